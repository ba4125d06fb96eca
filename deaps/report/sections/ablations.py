"""Ablations of components, span and features, beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from deaps.evaluation.document import Ablation, AblationRow, BenchmarkRecord, Evaluation
from deaps.report.cells import score_cell
from deaps.report.figures.ablation_bars import AblationBar, ablation_plot
from deaps.report.figures.signs import line_sign, marker_sign
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    LegendEntry,
    Panel,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.results import accuracy, benchmark_title, reported, was_run
from deaps.report.sections.absent import notices
from deaps.report.theme import INK, SERIES
from deaps.report.wording import slug

_UNTRAINED = "not trained"
_UNTESTED = "not run"


def ablations_section(evaluation: Evaluation) -> Section:
    """Return bars and a table for each ablation."""
    parts: list[Part] = [*notices(evaluation, "ablations", empty=not evaluation.ablations)]
    for ablation in evaluation.ablations:
        benchmarks = _benchmarks_with_figures(evaluation, ablation)
        if benchmarks:
            parts.append(_figure(ablation, benchmarks))
        parts.append(_table(evaluation, ablation))
    return Section("ablations", "Ablations", tuple(parts))


def _benchmarks_with_figures(evaluation: Evaluation, ablation: Ablation) -> list[BenchmarkRecord]:
    names = [row.representation for row in ablation.rows if row.representation]
    return [
        benchmark
        for benchmark in reported(evaluation)
        if was_run(benchmark) and any(accuracy(benchmark, name) for name in names)
    ]


def _figure(ablation: Ablation, benchmarks: Sequence[BenchmarkRecord]) -> Figure:
    name = f"figure-ablation-{slug(ablation.name)}"
    paper = marker_sign("d", INK, name=f"{name}-paper", filled=False)
    return Figure(
        id=name,
        caption=f"{ablation.title}: total accuracy, with its 95 % confidence interval.",
        panels=tuple(_panel(ablation, benchmark) for benchmark in benchmarks),
        arrangement="triple",
        legend=(
            LegendEntry(line_sign(SERIES[0], name=f"{name}-interval"), "95 % confidence interval"),
            LegendEntry(paper, "paper"),
        ),
    )


def _panel(ablation: Ablation, benchmark: BenchmarkRecord) -> Panel:
    bars = [_bar(row, benchmark) for row in ablation.rows]
    values = ", ".join(
        f"{bar.label} {bar.missing if bar.value is None else format(bar.value, '.1f')}"
        for bar in bars
    )
    name = f"ablation-{slug(ablation.name)}-{slug(benchmark.name)}"
    label = f"{ablation.title} in {benchmark.title}, accuracy in per cent: {values}"
    return Panel(ablation_plot(bars, name=name, label=label), title=benchmark.title)


def _bar(row: AblationRow, benchmark: BenchmarkRecord) -> AblationBar:
    score = accuracy(benchmark, row.representation) if row.representation else None
    return AblationBar(
        label=row.label,
        value=100 * score.value if score else None,
        low=100 * score.low if score and score.low is not None else None,
        high=100 * score.high if score and score.high is not None else None,
        paper=row.paper.get(benchmark.name),
        missing=_UNTESTED if row.representation else _UNTRAINED,
    )


def _table(evaluation: Evaluation, ablation: Ablation) -> Table:
    names = [benchmark.name for benchmark in reported(evaluation)]
    in_paper = {name for row in ablation.rows for name in row.paper}
    shown = [benchmark.name for benchmark in _benchmarks_with_figures(evaluation, ablation)]
    shown += [name for name in names if name in in_paper and name not in shown]
    groups = tuple(
        ColumnGroup(
            benchmark_title(evaluation, name), ("here", "paper") if name in in_paper else ("here",)
        )
        for name in shown
    )
    rows = tuple(Row(row.label, _cells(evaluation, row, shown, in_paper)) for row in ablation.rows)
    return Table(
        id=f"table-ablation-{slug(ablation.name)}",
        caption=f"{ablation.title}: total accuracy in per cent, with its 95 % confidence interval.",
        corner="",
        groups=groups,
        bodies=(Body(rows),),
    )


def _cells(
    evaluation: Evaluation, row: AblationRow, shown: Sequence[str], in_paper: set[str]
) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for name in shown:
        benchmark = next(benchmark for benchmark in evaluation.benchmarks if benchmark.name == name)
        score = accuracy(benchmark, row.representation) if row.representation else None
        missing = Cell(_UNTESTED if row.representation else _UNTRAINED, missing=True)
        cells.append(score_cell(score) if score else missing)
        if name in in_paper:
            printed = row.paper.get(name)
            cells.append(Cell("–", missing=True) if printed is None else Cell(f"{printed:.1f}"))
    return tuple(cells)
