"""Every representation in every benchmark: what can be run, what is run, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from deaps import evaluation
from deaps.benchmark_registry import all_benchmarks
from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings
from deaps.data_part import DataPart
from deaps.experiment import Experiment
from deaps.probing.labelled_windows import NotRunError
from deaps.probing.plan import Plan, plan_benchmark
from deaps.probing.representations import FeatureFile


class OutcomeKey(NamedTuple):
    """A representation at a step in a benchmark."""

    representation: str
    step: int | None
    benchmark: str


Outcomes = dict[OutcomeKey, evaluation.Outcome]


def configured_benchmarks(settings: BenchmarkSettings) -> list[Benchmark]:
    """Return the benchmarks that the settings give data sets to, in the order of the report."""
    return [each for each in all_benchmarks().values() if each.datasets(settings)]


def plan_benchmarks(
    index: duckdb.DuckDBPyConnection,
    settings: BenchmarkSettings,
    roots: Mapping[str, Path],
    labels: evaluation.DatasetLabels,
) -> tuple[dict[str, Plan], dict[str, str]]:
    """Return the benchmarks that can be run on a snapshot, and why the others cannot.

    ``roots`` says where each configured data set lies, ``labels`` its name for people.
    """
    plans, not_run = {}, {}
    for benchmark in configured_benchmarks(settings):
        try:
            plans[benchmark.name] = plan_benchmark(benchmark, index, settings, labels)
        except NotRunError as error:
            not_run[benchmark.name] = _missing_data(benchmark, settings, roots, labels) or str(
                error
            )
    return plans, not_run


def _missing_data(
    benchmark: Benchmark,
    settings: BenchmarkSettings,
    roots: Mapping[str, Path],
    labels: evaluation.DatasetLabels,
) -> str | None:
    """Return which data set of the benchmark is missing, and where it was expected."""
    for source in benchmark.datasets(settings):
        dataset = DataPart.parse(source).dataset
        if dataset not in roots:
            return f"{labels[dataset]} was not available: data.{dataset} is not set"
        if not roots[dataset].exists():
            return f"{labels[dataset]} was not available: no data at {roots[dataset]}"
    return None


def followed_benchmarks(plans: Mapping[str, Plan]) -> list[str]:
    """Return the benchmarks that are run at every encoder file."""
    followed = [benchmark for benchmark in all_benchmarks().values() if benchmark.followed]
    wanted = [b.name if b.name in plans else b.stand_in for b in followed]
    return [name for name in dict.fromkeys(wanted) if name is not None and name in plans]


def list_outcomes(
    files: Sequence[FeatureFile], plans: Mapping[str, Plan], trials: set[str]
) -> list[tuple[OutcomeKey, Path]]:
    """Return which outcomes are to be computed, each with its file of features.

    Only the inner folds judge trials: their reported figures are never computed.
    """
    followed = set(followed_benchmarks(plans))
    listed = []
    for file in files:
        for name, plan in plans.items():
            if file.representation in trials and plan.benchmark.reported:
                continue
            if file.step is not None and name not in followed:
                continue
            listed.append((OutcomeKey(file.representation, file.step, name), file.path))
    return listed


def benchmark_records(
    settings: BenchmarkSettings,
    plans: Mapping[str, Plan],
    not_run: Mapping[str, str],
    outcomes: Outcomes,
    labels: evaluation.DatasetLabels,
) -> tuple[evaluation.BenchmarkRecord, ...]:
    """Return every benchmark as the report shows it, also those that were not run."""
    return tuple(
        evaluation.BenchmarkRecord(
            name=benchmark.name,
            title=benchmark.title,
            protocol=benchmark.protocol(settings, labels),
            classes=benchmark.classes,
            reported=benchmark.reported,
            not_run=not_run.get(benchmark.name),
            facts=plans[benchmark.name].facts if benchmark.name in plans else None,
            outcomes=tuple(
                outcome
                for key, outcome in outcomes.items()
                if key.benchmark == benchmark.name and key.step is None
            ),
        )
        for benchmark in configured_benchmarks(settings)
    )


def accuracy_table(outcomes: Outcomes) -> list[dict[str, str]]:
    """Return a row for each representation with its accuracy in each benchmark, as text."""
    rows: dict[str, dict[str, str]] = {}
    for key, outcome in outcomes.items():
        if key.step is None:
            row = rows.setdefault(key.representation, {"representation": key.representation})
            row[key.benchmark] = f"{100 * outcome.scores[0].value:.1f} %"
    return list(rows.values())


def trial_records(experiment: Experiment, outcomes: Outcomes) -> tuple[evaluation.Trial, ...]:
    """Return the trials, each after its method as it is set, with what the inner folds say."""
    tried = [trained for trained in experiment.trained if trained.role == "trial"]
    as_set = {t.plan.method: t for t in experiment.trained if t.role == "method"}
    listed = []
    for method in dict.fromkeys(trained.plan.method for trained in tried):
        listed += [as_set[method]] if method in as_set else []
        listed += [trained for trained in tried if trained.plan.method == method]
    return tuple(
        evaluation.Trial(
            name=trained.label,
            changed=", ".join(trained.changed) or "nothing",
            scores=_inner_scores(trained.name, outcomes),
            chosen=trained.role == "method",
        )
        for trained in listed
    )


def _inner_scores(representation: str, outcomes: Outcomes) -> dict[str, float]:
    benchmarks = all_benchmarks()
    return {
        key.benchmark: outcome.scores[0].value
        for key, outcome in outcomes.items()
        if key.representation == representation
        and key.step is None
        and not benchmarks[key.benchmark].reported
    }


def trained_ablations(
    ablations: Iterable[evaluation.Ablation], trained: Iterable[str]
) -> tuple[evaluation.Ablation, ...]:
    """Return the ablations, their rows without a finished training marked as not trained."""
    present = set(trained)
    return tuple(
        ablation.model_copy(update={"rows": tuple(_present(row, present) for row in ablation.rows)})
        for ablation in ablations
    )


def _present(row: evaluation.AblationRow, trained: set[str]) -> evaluation.AblationRow:
    is_trained = row.representation in trained
    return row if is_trained else row.model_copy(update={"representation": None})
