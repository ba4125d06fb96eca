"""The check that nobody who is tested was seen in pre-training, unless a benchmark declares it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import NotRunError
from deaps.evaluation.plan import Plan, configured_benchmarks, plan_benchmark
from deaps.training.trained_on import TrainedOn, people_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class GuardedPlans(NamedTuple):
    """Benchmarks that may be run, with what is declared of them, and why others are refused."""

    plans: dict[str, Plan]
    seen: dict[str, str]
    """Of benchmarks that test people who were seen in pre-training, as they declare, or may have
    been, because an encoder's file does not say which people it has seen: a sentence each."""
    refused: dict[str, str]


def guard_plans(
    plans: Mapping[str, Plan], trained: Mapping[str, TrainedOn], trials: Collection[str] = ()
) -> GuardedPlans:
    """Return the benchmarks that test nobody that some encoder was trained on, and the declared.

    ``trained`` holds by representation the people it was trained on, over all its seeds;
    ``trials`` are those of them that are evaluated on the inner folds alone. A benchmark is
    refused as a whole: without one of the methods it would compare the others alone. It is not
    refused for an encoder of which nothing is recorded, but it says so.
    """
    guarded = GuardedPlans({}, {}, {})
    for name, plan in plans.items():
        seen = _seen(plan, _tested_by(plan.benchmark, trained, trials))
        if seen is None:
            guarded.plans[name] = plan
        elif plan.benchmark.seen_in_training:
            guarded.plans[name] = plan
            guarded.seen[name] = f"{seen}, without labels; the benchmark declares it."
        else:
            guarded.refused[name] = (
                f"refused, because {seen}. Test other people, or train on others "
                "(sampling.datasets)"
            )
    return guarded._replace(seen=_with_unknown(guarded, trained))


def _with_unknown(guarded: GuardedPlans, trained: Mapping[str, TrainedOn]) -> dict[str, str]:
    """Return what is declared of the benchmarks, and of which encoders nothing is recorded."""
    unknown = [name for name, trained_on in trained.items() if not trained_on.recorded]
    if not unknown:
        return guarded.seen
    sentence = (
        f"Whom {' and '.join(unknown)} was trained on is not recorded, so tested people may be "
        "among them."
    )
    return {
        name: f"{guarded.seen[name]} {sentence}" if name in guarded.seen else sentence
        for name in guarded.plans
    }


def refusals(
    index: DuckDBPyConnection,
    settings: BenchmarkSettings,
    trained: Mapping[str, TrainedOn],
    trials: Collection[str] = (),
) -> dict[str, str]:
    """Return which benchmarks `guard_plans` would refuse, and why; for use before a training.

    Only a benchmark whose data sets meet the pre-training is planned: that takes seconds.
    """
    plans: dict[str, Plan] = {}
    for benchmark in configured_benchmarks(settings):
        tested = _tested_by(benchmark, trained, trials)
        if not benchmark.seen_in_training and _meets(index, benchmark, settings, tested):
            plans |= _planned(index, benchmark, settings)
    return guard_plans(plans, trained, trials).refused


def _planned(
    index: DuckDBPyConnection, benchmark: Benchmark, settings: BenchmarkSettings
) -> dict[str, Plan]:
    """Return a benchmark's plan by its name, nothing if it cannot be run."""
    try:
        return {benchmark.name: plan_benchmark(benchmark, index, settings, DatasetLabels())}
    except NotRunError:
        return {}


def _meets(
    index: DuckDBPyConnection,
    benchmark: Benchmark,
    settings: BenchmarkSettings,
    trained: Mapping[str, TrainedOn],
) -> bool:
    """Return whether some training knows somebody, or a recording, of a benchmark's data sets."""
    people = people_of(index, benchmark.datasets(settings))
    return any(
        each.shared_subjects(people.subjects) or each.shared_recordings(people.recordings)
        for each in trained.values()
    )


def _tested_by(
    benchmark: Benchmark, trained: Mapping[str, TrainedOn], trials: Collection[str]
) -> dict[str, TrainedOn]:
    """Return the trainings that a benchmark tests."""
    return {name: t for name, t in trained.items() if benchmark.tests(trial=name in trials)}


def _seen(plan: Plan, trained: Mapping[str, TrainedOn]) -> str | None:
    """Return which tested people or recordings were seen, of the encoder that saw most."""
    subjects = np.unique(plan.examples.subjects[plan.tested]).tolist()
    contents = np.unique(plan.examples.contents[plan.tested]).tolist()
    people = {name: len(t.shared_subjects(subjects)) for name, t in trained.items()}
    copies = {name: len(t.shared_recordings(contents)) for name, t in trained.items()}
    for what, counts, total in (
        ("tested people", people, len(subjects)),
        ("tested recordings", copies, len(contents)),
    ):
        name = max(counts, key=lambda name: counts[name], default=None)
        if name is not None and counts[name]:
            return f"{counts[name]:,} of {total:,} {what} are in the pre-training of {name}"
    return None
