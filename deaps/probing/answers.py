"""Which answers an evaluation needs: every representation, seed, step, benchmark and probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from deaps.probing.plan import Plan, followed_benchmarks
from deaps.probing.probes import Answers
from deaps.probing.representations import RR_FLOOR, FeatureFile, joined_name


class AnswerKey(NamedTuple):
    """One run of a representation in one benchmark with one probe."""

    representation: str
    seed: int | None
    step: int | None
    """None for the last."""
    benchmark: str
    probe: str
    few_labels: bool = False
    """Whether the probe is fitted on draws of few people instead of the benchmark's folds."""


AnswersByKey = dict[AnswerKey, list[Answers]]
"""A list has one entry for each fold, or each draw of people."""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Answers to compute, and the files whose features are laid side by side for it."""

    key: AnswerKey
    files: tuple[Path, ...]

    def n_fits(self, plans: Mapping[str, Plan]) -> int:
        """Return how often the probe is fitted."""
        plan = plans[self.key.benchmark]
        return len(plan.label_draws if self.key.few_labels else plan.folds)


def requests(
    files: Sequence[FeatureFile],
    plans: Mapping[str, Plan],
    *,
    trials: set[str],
    reference: str,
    probes: Sequence[str],
) -> list[AnswerRequest]:
    """Return all answers that an evaluation needs.

    Only the inner folds judge trials: their reported figures are never computed. The inner folds
    and earlier steps have the first probe alone.
    """
    wanted = [request for file in files for request in _of_file(file, plans, trials, probes)]
    rhythm = next((file for file in files if file.source.kind == RR_FLOOR), None)
    if rhythm is not None:
        wanted += _joined(files, plans, reference, rhythm, probes[0])
    return wanted


def _of_file(
    file: FeatureFile, plans: Mapping[str, Plan], trials: set[str], probes: Sequence[str]
) -> Iterator[AnswerRequest]:
    followed = followed_benchmarks(plans)
    for name, plan in plans.items():
        if not plan.benchmark.judges(trial=file.representation in trials):
            continue
        if file.step is not None and name not in followed:
            continue
        in_full = plan.benchmark.reported and file.step is None
        for probe in probes if in_full else probes[:1]:
            key = AnswerKey(file.representation, file.seed, file.step, name, probe)
            yield AnswerRequest(key, (file.path,))
        if in_full and plan.label_draws:
            yield AnswerRequest(key._replace(probe=probes[0], few_labels=True), (file.path,))


def _joined(
    files: Sequence[FeatureFile],
    plans: Mapping[str, Plan],
    method: str,
    rhythm: FeatureFile,
    probe: str,
) -> Iterator[AnswerRequest]:
    """Yield the reported benchmarks with a method's features and the RR numbers together."""
    for file in files:
        if file.representation == method and file.step is None:
            for name, plan in plans.items():
                if plan.benchmark.reported:
                    key = AnswerKey(joined_name(method), file.seed, None, name, probe)
                    yield AnswerRequest(key, (file.path, rhythm.path))
