"""The records of an evaluation's benchmarks, trials and ablations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deaps import evaluation
from deaps.config import BenchmarkSettings
from deaps.experiment import Experiment
from deaps.probing.answers import AnswersByKey
from deaps.probing.outcomes.figures import BenchmarkFigures
from deaps.probing.outcomes.judging import Judge
from deaps.probing.plan import Plan, configured_benchmarks


def benchmark_records(
    settings: BenchmarkSettings,
    plans: Mapping[str, Plan],
    not_run: Mapping[str, str],
    labels: evaluation.DatasetLabels,
    seen: Mapping[str, str],
) -> tuple[evaluation.BenchmarkRecord, ...]:
    """Return every benchmark as the report describes it, also those that were not run."""
    return tuple(
        evaluation.BenchmarkRecord(
            name=benchmark.name,
            title=benchmark.title,
            protocol=benchmark.protocol(settings, labels),
            classes=benchmark.classes,
            reported=benchmark.reported,
            leak=benchmark.leak,
            seen=seen.get(benchmark.name),
            not_run=not_run.get(benchmark.name),
            facts=plans[benchmark.name].facts if benchmark.name in plans else None,
        )
        for benchmark in configured_benchmarks(settings)
    )


def with_figures(
    records: Iterable[evaluation.BenchmarkRecord],
    figures: Mapping[str, BenchmarkFigures],
    judge: Judge,
    answers: AnswersByKey,
) -> tuple[evaluation.BenchmarkRecord, ...]:
    """Return the records with outcomes and, where they are reported, comparisons and probes."""
    return tuple(
        _with_figures(record, figures[record.name], judge, answers)
        if record.name in figures
        else record
        for record in records
    )


def _with_figures(
    record: evaluation.BenchmarkRecord,
    figures: BenchmarkFigures,
    judge: Judge,
    answers: AnswersByKey,
) -> evaluation.BenchmarkRecord:
    found: dict[str, object] = {"outcomes": tuple(map(figures.outcome, figures.contestants))}
    if record.reported:
        found["comparisons"] = figures.comparisons(judge.families())
        found["probes"] = judge.other_probes(figures.plan, answers)
    return record.model_copy(update=found)


def accuracy_table(records: Iterable[evaluation.BenchmarkRecord]) -> list[dict[str, str]]:
    """Return a row for each representation with its accuracy in each benchmark, as text."""
    rows: dict[str, dict[str, str]] = {}
    for record in records:
        for outcome in record.outcomes:
            name = outcome.representation
            row = rows.setdefault(name, {"representation": name})
            row[record.name] = f"{100 * outcome.scores[0].value:.1f} %"
    return list(rows.values())


def trial_records(
    experiment: Experiment, records: Sequence[evaluation.BenchmarkRecord]
) -> tuple[evaluation.Trial, ...]:
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
            scores=_inner_scores(trained.name, records),
            chosen=trained.role == "method",
        )
        for trained in listed
    )


def _inner_scores(
    representation: str, records: Iterable[evaluation.BenchmarkRecord]
) -> dict[str, float]:
    inner = (record for record in records if not record.reported)
    found = ((record.name, record.outcome(representation)) for record in inner)
    return {name: outcome.scores[0].value for name, outcome in found if outcome is not None}


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
