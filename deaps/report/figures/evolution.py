"""Accuracy over the course of training: measured points and a fitted polynomial each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import IdentityTransform

from deaps.evaluation import Evolution
from deaps.report.figures.drawing import (
    limits,
    name_above,
    pixel_axes,
    shortened,
    spread,
    text_width,
)
from deaps.report.svg import inline_svg
from deaps.report.theme import RULE, SeriesStyle

_SIZE = (440, 310)
_TOP = 24
_BOTTOM = 40
_LABEL_GAP = 14
_LABEL_LENGTH = 18


@dataclass(frozen=True, slots=True)
class EvolutionLine:
    """One representation's course."""

    label: str
    style: SeriesStyle
    course: Evolution


def evolution_plot(lines: Sequence[EvolutionLine], *, name: str, label: str) -> Markup:
    """Return accuracy in per cent by iteration, each line named at its end."""

    def draw(figure: Figure) -> None:
        labels = [shortened(line.label, _LABEL_LENGTH) for line in lines]
        right = 42 + text_width(labels)
        axes = pixel_axes(figure, left=34, right=right, top=_TOP, bottom=_BOTTOM)
        _set_scales(axes, lines)
        for line in lines:
            _draw_line(axes, line)
        _name_lines(axes, lines, labels)

    return inline_svg(draw, name=name, label=label, size=_SIZE)


def _set_scales(axes: Axes, lines: Sequence[EvolutionLine]) -> None:
    last = max((step for line in lines for step in line.course.steps), default=1)
    shares = [v for line in lines for v in (*line.course.values, *line.course.fitted)]
    low, high = limits(100 * np.array(shares))
    axes.set(xlim=(0, 1.02 * last), ylim=(max(low, 0), min(high, 100)))
    axes.set_xlabel("iterations")
    name_above(axes, "accuracy, per cent")
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


def _name_lines(axes: Axes, lines: Sequence[EvolutionLine], labels: Sequence[str]) -> None:
    """Write each name right of its line's end, moved where two would touch."""
    ends = [axes.transData.transform(_end(line.course)) for line in lines]
    box = axes.get_window_extent()
    heights = spread([end[1] for end in ends], _LABEL_GAP, low=box.y0, high=box.y1 + _TOP / 2)
    for line, label, end, height in zip(lines, labels, ends, heights, strict=True):
        _in_pixels(axes, [end[0], box.x1 + 8], [end[1], height], color=RULE, linewidth=0.8)
        sign = [box.x1 + 10, box.x1 + 22, box.x1 + 34]
        style = line.style
        _in_pixels(axes, sign, [height] * 3, color=style.colour, linestyle=style.dash)
        _in_pixels(axes, sign[1:2], [height], color=style.colour, marker=style.marker, markersize=6)
        axes.text(sign[-1] + 4, height, label, va="center_baseline", transform=IdentityTransform())


def _in_pixels(axes: Axes, x: Sequence[float], y: Sequence[float], **style: Any) -> None:
    axes.plot(x, y, transform=IdentityTransform(), clip_on=False, **style)


def _end(course: Evolution) -> tuple[float, float]:
    """Return the last point of the fitted line, or of the measured ones where none was fitted."""
    steps = course.fitted_steps or course.steps
    values = course.fitted or course.values
    return float(steps[-1]), 100 * float(values[-1])
