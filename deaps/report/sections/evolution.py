"""Figures over the course of training."""

from __future__ import annotations

from typing import NamedTuple

from deaps.evaluation.document import Evaluation, Evolution
from deaps.report.columns import METRIC_TITLES
from deaps.report.figures.evolution import EvolutionLine, evolution_plot
from deaps.report.parts import (
    Beside,
    Body,
    Cell,
    ColumnGroup,
    Figure,
    Panel,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.results import benchmark_title, representation_label
from deaps.report.sections.absent import notices
from deaps.report.theme import series_styles
from deaps.report.wording import counted, number, percent, points, slug

_GAIN = (
    "One seed of each method is followed. The gain of a doubling is the slope of a straight line "
    "over the logarithm of the iterations, with its standard error: the scatter about that line, "
    "not the luck of a seed."
)


class _Measured(NamedTuple):
    """What the courses of one panel are of."""

    benchmark: str
    metric: str

    def name(self) -> str:
        """Return its part of ids in the page; accuracy goes without saying."""
        return slug(self.benchmark if self.metric == "accuracy" else "-".join(self))


def evolution_section(evaluation: Evaluation) -> Section:
    """Return a figure and a table for each benchmark that was run at several checkpoints."""
    courses: dict[_Measured, list[Evolution]] = {}
    for course in evaluation.evolution:
        courses.setdefault(_Measured(course.benchmark, course.metric), []).append(course)
    parts: list[Part] = [*notices(evaluation, "evolution", empty=not courses)]
    if courses:
        parts.append(_figure(evaluation, courses))
        parts.append(Paragraph(_GAIN))
        parts.append(Beside(tuple(_table(evaluation, *item) for item in courses.items())))
    return Section("evolution", "Evolution over training", tuple(parts))


def _figure(evaluation: Evaluation, courses: dict[_Measured, list[Evolution]]) -> Figure:
    degrees = sorted({course.degree for group in courses.values() for course in group})
    degree = " or ".join(map(str, degrees))
    return Figure(
        id="figure-evolution",
        caption="Figures of each encoder during its training: accuracy and, of two classes, AUROC. "
        f"Points are measured; lines are polynomials of degree {degree} fitted to them.",
        panels=tuple(_panel(evaluation, *item) for item in courses.items()),
        arrangement="pair",
    )


def _panel(evaluation: Evaluation, measured: _Measured, courses: list[Evolution]) -> Panel:
    styles = series_styles(evaluation.representations)
    title = benchmark_title(evaluation, measured.benchmark)
    metric = METRIC_TITLES[measured.metric]
    lines = [
        EvolutionLine(
            representation_label(evaluation, c.representation), styles[c.representation], c
        )
        for c in courses
        if c.steps
    ]
    label = f"{title}: {metric} over iterations, {counted(len(lines), 'line')}; figures in a table"
    name = f"evolution-{measured.name()}"
    return Panel(evolution_plot(lines, metric=metric, name=name, label=label), title=title)


def _table(evaluation: Evaluation, measured: _Measured, courses: list[Evolution]) -> Table:
    steps = sorted({step for course in courses for step in course.steps})
    rows = []
    for course in courses:
        values = dict(zip(course.steps, course.values, strict=True))
        cells = [Cell(percent(values.get(step))) for step in steps]
        cells.append(_gain_of_doubling(course))
        rows.append(Row(representation_label(evaluation, course.representation), tuple(cells)))
    return Table(
        id=f"table-evolution-{measured.name()}",
        caption=f"{benchmark_title(evaluation, measured.benchmark)}: "
        f"{METRIC_TITLES[measured.metric]} by iterations, in per cent, and what a doubling of the "
        "iterations gained, in points.",
        corner="",
        groups=(
            ColumnGroup("iterations", tuple(f"{step:,}" for step in steps)),
            ColumnGroup("", ("a doubling",)),
        ),
        bodies=(Body(tuple(rows)),),
    )


def _gain_of_doubling(course: Evolution) -> Cell:
    error = course.doubling_error
    note = "" if error is None else f"± {number(100 * error, 1)}"
    return Cell(points(course.doubling_gain), note, missing=course.doubling_gain is None)
