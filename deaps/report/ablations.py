"""Ablations of components, span and features next to the paper's, and all trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import Ablation, AblationRow, BenchmarkRecord, Evaluation
from deaps.report.cells import accuracy_cell, score_cell
from deaps.report.drawing import line_sign, marker_sign, pixel_axes, shortened, text_width
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
    SideBySide,
    Table,
)
from deaps.report.results import (
    accuracy,
    benchmark_title,
    notices,
    reported,
    tested_in,
    was_run,
    why_not_run,
)
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, SERIES
from deaps.report.wording import percent, slug

_WIDTH = 400
_ROW = 30
_TOP = 6
_BOTTOM = 38
_VALUE_ROOM = 40
_LABEL_LENGTH = 22


@dataclass(frozen=True, slots=True)
class AblationBar:
    """One setting, in per cent; without a value it was not trained or not tested."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    paper: float | None
    missing: str
    """What stands in the place of a value."""


def ablation_plot(bars: Sequence[AblationBar], *, name: str, label: str) -> Markup:
    """Return a horizontal bar for each setting, from zero, with its value at the end."""

    def draw(figure: MplFigure) -> None:
        labels = [shortened(bar.label, _LABEL_LENGTH) for bar in bars]
        left = 14 + text_width(labels)
        axes = pixel_axes(figure, left=left, right=_VALUE_ROOM, top=_TOP, bottom=_BOTTOM)
        axes.set(xlim=(0, 100), ylim=(len(bars) - 0.5, -0.5))
        axes.set_yticks(range(len(bars)), labels)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel("accuracy, per cent")
        axes.grid(axis="x")
        for place, bar in enumerate(bars):
            _draw_bar(axes, bar, place)

    return inline_svg(
        draw, name=name, label=label, size=(_WIDTH, _TOP + _BOTTOM + _ROW * len(bars))
    )


def _draw_bar(axes: Axes, bar: AblationBar, place: int) -> None:
    if bar.value is None:
        axes.text(1.5, place, bar.missing, va="center_baseline", color=MUTED, fontstyle="italic")
    else:
        axes.barh(place, bar.value, height=0.56, color=SERIES[0], alpha=0.3)
        axes.plot([bar.value] * 2, [place - 0.28, place + 0.28], color=SERIES[0], linewidth=2)
        axes.text(
            1.015,
            place,
            f"{bar.value:.1f}",
            transform=axes.get_yaxis_transform(),
            va="center_baseline",
        )
    if bar.low is not None and bar.high is not None:
        axes.plot([bar.low, bar.high], [place, place], color=SERIES[0], linewidth=1.4)
    if bar.paper is not None:
        axes.plot([bar.paper], [place], marker="d", markersize=8, color=INK, markerfacecolor="none")


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
            benchmark_title(evaluation, name),
            ("this report", "paper") if name in in_paper else ("this report",),
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


def trials_section(evaluation: Evaluation) -> Section:
    """Return every trial, and the inner folds of the representations that are reported."""
    inner = [benchmark for benchmark in evaluation.benchmarks if not benchmark.reported]
    empty = not evaluation.trials and not inner
    parts: list[Part] = [*notices(evaluation, "trials", empty=empty)]
    tables = [_trials_table(evaluation)] if evaluation.trials else []
    tables += [_inner_table(evaluation, benchmark) for benchmark in inner]
    if tables:
        parts.append(SideBySide(tuple(tables)))
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
