"""Figures over the course of training: measured points and a fitted polynomial each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.stats import linregress

from deaps.evaluation.document import Evaluation, Evolution
from deaps.evaluation.metrics import metric_title
from deaps.report.arrays import NotShownError, plain_floats
from deaps.report.drawing import (
    NamedEnd,
    limits,
    name_above,
    name_line_ends,
    pixel_axes,
    room_for_names,
)
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    Panel,
    Paragraph,
    Part,
    Row,
    Section,
    SideBySide,
    Table,
)
from deaps.report.results import benchmark_title, notices, representation_label
from deaps.report.svg import inline_svg
from deaps.report.theme import SeriesStyle, series_styles
from deaps.report.wording import counted, number, percent, points, slug

_CURVE_POINTS = 100


def evolution_data(
    representation: str,
    benchmark: str,
    metric: str,
    steps: Sequence[int],
    values: Sequence[float],
    *,
    degree: int = 3,
) -> Evolution:
    """Return figures by step with a polynomial fitted by least squares.

    The degree is lowered until two points are left over, and is at least 1. The curve is the
    polynomial itself: it may leave the range that a share can have.

    Raises
    ------
    NotShownError
        With fewer than two different steps.
    """
    order = np.argsort(np.asarray(steps), kind="stable")
    at, figures = np.asarray(steps)[order], np.asarray(values, np.float64)[order]
    n_steps = len(np.unique(at))
    if n_steps < 2:
        raise NotShownError(f"{n_steps} different steps; at least two are needed")
    degree = max(1, min(degree, n_steps - 2))
    share = (at - at[0]) / (at[-1] - at[0])
    # On the domain itself: numpy would map it to -1 to 1, with the same curve.
    curve = Polynomial.fit(share, figures, degree, domain=[0, 1], window=[0, 1])
    places = np.linspace(0, 1, _CURVE_POINTS)
    gain, error = _gain_of_doubling(at[at > 0], figures[at > 0])
    return Evolution(
        representation=representation,
        benchmark=benchmark,
        metric=metric,
        steps=tuple(int(step) for step in at),
        values=tuple(float(value) for value in figures),
        degree=degree,
        fitted_steps=plain_floats(at[0] + places * (at[-1] - at[0])),
        fitted=plain_floats(curve(places)),
        doubling_gain=gain,
        doubling_error=error,
    )


def _gain_of_doubling(
    steps: NDArray[np.integer], figures: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the slope of figures over log2(steps), and its standard error; steps are positive."""
    n_steps = len(np.unique(steps))
    if n_steps < 2:
        return None, None
    line = linregress(np.log2(steps), figures)
    return float(line.slope), float(line.stderr) if n_steps > 2 else None


_SIZE = (440, 310)
_TOP = 24
_BOTTOM = 40


@dataclass(frozen=True, slots=True)
class EvolutionLine:
    """One representation's course."""

    label: str
    style: SeriesStyle
    course: Evolution


def evolution_plot(lines: Sequence[EvolutionLine], *, metric: str, name: str, label: str) -> Markup:
    """Return a metric in per cent by iteration, each line named at its end."""

    def draw(figure: MplFigure) -> None:
        right = room_for_names([line.label for line in lines])
        axes = pixel_axes(figure, left=34, right=right, top=_TOP, bottom=_BOTTOM)
        _set_scales(axes, lines)
        name_above(axes, f"{metric}, per cent")
        for line in lines:
            _draw_line(axes, line)
        ends = [NamedEnd(line.label, line.style, _end(line.course)) for line in lines]
        name_line_ends(axes, ends, top=_TOP)

    return inline_svg(draw, name=name, label=label, size=_SIZE)


def _set_scales(axes: Axes, lines: Sequence[EvolutionLine]) -> None:
    last = max((step for line in lines for step in line.course.steps), default=1)
    shares = [v for line in lines for v in (*line.course.values, *line.course.fitted)]
    low, high = limits(100 * np.array(shares))
    axes.set(xlim=(0, 1.02 * last), ylim=(max(low, 0), min(high, 100)))
    axes.set_xlabel("iterations")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y")


def _draw_line(axes: Axes, line: EvolutionLine) -> None:
    style, course = line.style, line.course
    axes.plot(
        course.fitted_steps,
        100 * np.array(course.fitted),
        color=style.colour,
        linestyle=style.dash,
        linewidth=1.7,
    )
    axes.plot(
        course.steps,
        100 * np.array(course.values),
        color=style.colour,
        linestyle="none",
        marker=style.marker,
        markersize=5,
        alpha=0.85,
    )


def _end(course: Evolution) -> tuple[float, float]:
    """Return the last point of the fitted line, or of the measured ones where none was fitted."""
    steps = course.fitted_steps or course.steps
    values = course.fitted or course.values
    return float(steps[-1]), 100 * float(values[-1])


_GAIN = (
    "One seed of each method is followed. The gain of a doubling is the slope of a straight line "
    "over the logarithm of the iterations, with its standard error: the scatter about that line, "
    "not the between-seed variance."
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
        parts.append(SideBySide(tuple(_table(evaluation, *item) for item in courses.items())))
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
    metric = metric_title(measured.metric)
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
        cells.append(_gain_cell(course))
        rows.append(Row(representation_label(evaluation, course.representation), tuple(cells)))
    return Table(
        id=f"table-evolution-{measured.name()}",
        caption=f"{benchmark_title(evaluation, measured.benchmark)}: "
        f"{metric_title(measured.metric)} by iterations, in per cent, and the gain for each "
        "doubling of the iterations, in points.",
        corner="",
        groups=(
            ColumnGroup("iterations", tuple(f"{step:,}" for step in steps)),
            ColumnGroup("", ("gain per doubling",)),
        ),
        bodies=(Body(tuple(rows)),),
    )


def _gain_cell(course: Evolution) -> Cell:
    error = course.doubling_error
    note = "" if error is None else f"± {number(100 * error, 1)}"
    return Cell(points(course.doubling_gain), note, missing=course.doubling_gain is None)
