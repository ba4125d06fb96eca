"""What was tried, with its accuracy on the inner folds."""

from __future__ import annotations

from deaps.evaluation.document import BenchmarkRecord, Evaluation
from deaps.report.cells import accuracy_cell
from deaps.report.parts import Beside, Body, Cell, ColumnGroup, Part, Row, Section, Table
from deaps.report.results import accuracy, benchmark_title, tested_in, was_run, why_not_run
from deaps.report.sections.absent import notices
from deaps.report.wording import percent, slug


def trials_section(evaluation: Evaluation) -> Section:
    """Return every trial, and the inner folds of the representations that are reported."""
    inner = [benchmark for benchmark in evaluation.benchmarks if not benchmark.reported]
    empty = not evaluation.trials and not inner
    parts: list[Part] = [*notices(evaluation, "trials", empty=empty)]
    tables = [_trials_table(evaluation)] if evaluation.trials else []
    tables += [_inner_table(evaluation, benchmark) for benchmark in inner]
    if tables:
        parts.append(Beside(tuple(tables)))
    return Section("trials", "Trials on inner folds", tuple(parts))


def _trials_table(evaluation: Evaluation) -> Table:
    names = list(dict.fromkeys(name for trial in evaluation.trials for name in trial.scores))
    rows = []
    for trial in evaluation.trials:
        scores = tuple(Cell(percent(trial.scores.get(name))) for name in names)
        choice = Cell("chosen ✓" if trial.chosen else "")
        rows.append(Row(trial.name, (Cell(trial.changed), *scores, choice)))
    return Table(
        id="table-trials",
        caption="Every trial: what it changed, and its accuracy on inner folds of the training "
        "side, in per cent. The reported tests played no part in the choice.",
        corner="trial",
        groups=(
            ColumnGroup("", ("changed",), kind="text"),
            ColumnGroup("", tuple(benchmark_title(evaluation, name) for name in names)),
            ColumnGroup("", ("choice",), kind="text"),
        ),
        bodies=(Body(tuple(rows)),),
        notes=tuple(
            f"{benchmark.title}: {benchmark.seen}"
            for benchmark in evaluation.benchmarks
            if benchmark.name in names and benchmark.seen
        ),
    )


def _inner_table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    rows = tuple(
        Row(entry.label, (accuracy_cell(accuracy(benchmark, entry.name)),))
        for entry in tested_in(evaluation, benchmark)
    )
    missing = (Row(benchmark.title, sentence=why_not_run(benchmark)),)
    return Table(
        id=f"table-inner-{slug(benchmark.name)}",
        caption=f"{benchmark.title}. {benchmark.protocol}",
        corner="",
        groups=(ColumnGroup("", ("accuracy, per cent",)),),
        bodies=(Body(rows if was_run(benchmark) else missing),),
        notes=tuple(filter(None, (benchmark.seen,))),
    )
