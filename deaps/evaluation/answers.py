"""The answers of probes: which an evaluation needs, one fold computed, and files of answers."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation.examples import Fold, Windows, average_windows
from deaps.evaluation.features import FeatureTable, read_features
from deaps.evaluation.plan import Plan, followed_benchmarks
from deaps.evaluation.probes import PROBES, Answers
from deaps.evaluation.representations import (
    RR_BASELINE,
    FeatureFile,
    first_seeds,
    joined_name,
    missing_features,
    run_of,
)
from storage.errors import DeapsError
from storage.files import digest_of, replacing


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

    Trials are evaluated on the inner folds alone: their reported figures are never computed. Those
    and earlier steps have the first probe alone.
    """
    wanted = [request for file in files for request in _of_file(file, plans, trials, probes)]
    rhythm = next((file for file in files if file.source.kind == RR_BASELINE), None)
    if rhythm is not None:
        wanted += _joined(files, plans, reference, rhythm, probes[0])
    return wanted


def _of_file(
    file: FeatureFile, plans: Mapping[str, Plan], trials: set[str], probes: Sequence[str]
) -> Iterator[AnswerRequest]:
    followed = followed_benchmarks(plans)
    for name, plan in plans.items():
        if not plan.benchmark.tests(trial=file.representation in trials):
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


@dataclass(frozen=True, slots=True)
class FoldJob:
    """The part of a plan that a probe needs; it holds no names."""

    labels: NDArray[np.int8]
    n_classes: int
    windows: Windows
    owner: NDArray[np.int64]
    folds: tuple[Fold, ...]

    @classmethod
    def of(cls, plan: Plan, *, few_labels: bool = False) -> FoldJob:
        """Return what a probe needs of a plan: its folds, or its draws of few people."""
        examples, n_classes = plan.examples, len(plan.benchmark.classes)
        folds = tuple(draw.fold for draw in plan.label_draws) if few_labels else plan.folds
        return cls(examples.labels, n_classes, examples.windows, examples.owner, folds)

    def answer(self, tables: Sequence[FeatureTable], fold: int, probe: str) -> Answers:
        """Return a probe's answers to one fold's test side, the tables' features side by side."""
        of_windows = np.concatenate([table.of(self.windows) for table in tables], axis=1)
        features = average_windows(of_windows, self.owner)
        split = self.folds[fold]
        train, test = features[split.train], features[split.test]
        return PROBES[probe].fit_predict(train, self.labels[split.train], test, self.n_classes)


def answer_from_files(job: FoldJob, files: Sequence[Path], fold: int, probe: str) -> Answers:
    """Return a probe's answers to one fold with the features in files."""
    return job.answer([_table(path) for path in files], fold, probe)


@lru_cache(maxsize=2)
def _table(path: Path) -> FeatureTable:
    """Return a file's features; folds of one file follow each other, and files never change."""
    return read_features(path)


_VERSION = 4
"""Raised when the same features would give other answers than before."""

ANSWERS_FOLDER = "answers"
_NAME_LENGTH = 20
_DIGEST_BYTES = 32


def job_digest(job: FoldJob) -> str:
    """Return a digest of all that a probe is given besides the features."""
    content = hashlib.sha256()
    arrays: list[NDArray[np.integer]] = [job.labels, job.windows.key, job.owner]
    arrays += [side for fold in job.folds for side in (fold.train, fold.test)]
    for array in arrays:
        content.update(len(array).to_bytes(8, "little"))
        content.update(np.ascontiguousarray(array).tobytes())
    return digest_of(content.hexdigest(), job.n_classes)


def answer_path(features: Sequence[Path], job: str, probe: str) -> Path:
    """Return where a probe's answers lie, given files of features and the digest of a job.

    The name of a file of features says what they are; of several, the first has the answers.
    """
    name = digest_of(_VERSION, [path.name for path in features], job, probe)[:_NAME_LENGTH]
    return features[0].parent / ANSWERS_FOLDER / f"{name}.answers"


def answer_paths(
    requests: Iterable[AnswerRequest], jobs: Mapping[tuple[str, bool], FoldJob]
) -> dict[AnswerKey, Path]:
    """Return where the answers to each request lie, given what probes get of each benchmark."""
    digests = {name: job_digest(job) for name, job in jobs.items()}
    return {
        (key := request.key): answer_path(
            request.files, digests[key.benchmark, key.few_labels], key.probe
        )
        for request in requests
    }


def fold_jobs(plans: Mapping[str, Plan]) -> dict[tuple[str, bool], FoldJob]:
    """Return what probes get of each benchmark: its folds and, if it has any, its few labels."""
    return {
        (name, few): FoldJob.of(plan, few_labels=few)
        for name, plan in plans.items()
        for few in (False, True)
        if plan.label_draws or not few
    }


def files_to_embed(
    files: Sequence[FeatureFile], requests: Sequence[AnswerRequest], plans: Mapping[str, Plan]
) -> list[FeatureFile]:
    """Return the files of features to make: those that a missing answer or a figure needs.

    Raises
    ------
    DeapsError
        If one of them needs weights that are not here.
    """
    paths = answer_paths(requests, fold_jobs(plans))
    unanswered = [request for request in requests if not has_answers(paths[request.key])]
    asked = {path for request in unanswered for path in request.files}
    shown = {file.path for file in first_seeds(files) if not file.source.is_absent}
    missing = missing_features([file for file in files if file.path in asked | shown])
    for file in missing:
        if file.source.is_absent:
            benchmarks = {r.key.benchmark for r in unanswered if file.path in r.files}
            raise DeapsError(
                f"run {run_of(file)} ({file.representation}, seed {file.seed}) was brought without "
                f"its weights, and without answers to {', '.join(sorted(benchmarks))}; evaluate "
                "with the settings of the machine that packed it, or remove its folder to train it"
            )
    return missing


def write_answers(path: Path, answers: Sequence[Answers]) -> None:
    """Write the answers to all folds, behind the SHA-256 of what follows it.

    Scores are kept in half precision: they only rank examples, and three digits do that. Of two
    classes whose scores are opposite, the second column alone is written.
    """
    scores = np.concatenate([each.scores for each in answers])
    if scores.shape[1] == 2 and np.array_equal(scores[:, 0], -scores[:, 1]):
        scores = scores[:, 1:]
    arrays = io.BytesIO()
    np.savez_compressed(
        arrays,
        sizes=[len(each.labels) for each in answers],
        labels=np.concatenate([each.labels for each in answers]),
        scores=scores.astype(np.float16),
    )
    with replacing(path) as temporary:
        temporary.write_bytes(hashlib.sha256(arrays.getvalue()).digest() + arrays.getvalue())


def read_answers(path: Path) -> list[Answers] | None:
    """Return the answers to all folds; None without a file, or where it is damaged.

    A damaged file is not worth an error: its folds are fitted again.
    """
    content = _content(path)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        ends = np.cumsum(arrays["sizes"])[:-1]
        scores = arrays["scores"].astype(np.float64)
        if scores.shape[1] == 1:
            scores = np.concatenate([-scores, scores], axis=1)
        split = np.split(arrays["labels"], ends), np.split(scores, ends)
        return [Answers(*each) for each in zip(*split, strict=True)]


def has_answers(path: Path) -> bool:
    """Return whether whole answers lie there."""
    return _content(path) is not None


def _content(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, content = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None
