"""A figure over the course of training: measured points and a fitted polynomial each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from deaps.evaluation.document import Evolution
from deaps.report.figures.drawing import limits, name_above, pixel_axes
from deaps.report.figures.line_ends import NamedEnd, name_line_ends, room_for_names
from deaps.report.svg import inline_svg
from deaps.report.theme import SeriesStyle

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
