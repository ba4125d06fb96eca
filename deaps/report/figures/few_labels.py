"""A figure against the number of annotated people, a line for each representation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import NullLocator

from deaps.evaluation.document import FewLabelCurve
from deaps.report.figures.drawing import limits, name_above, pixel_axes
from deaps.report.figures.line_ends import NamedEnd, name_line_ends, room_for_names
from deaps.report.svg import inline_svg
from deaps.report.theme import SeriesStyle

_SIZE = (440, 320)
_TOP = 24
_BOTTOM = 40


@dataclass(frozen=True, slots=True)
class LabelCurve:
    """One representation's curve."""

    label: str
    style: SeriesStyle
    curve: FewLabelCurve


def few_labels_plot(
    curves: Sequence[LabelCurve], *, unit: str, metric: str, name: str, label: str
) -> Markup:
    """Return the metric in per cent by the number of annotated people, which doubles."""

    def draw(figure: MplFigure) -> None:
        right = room_for_names([curve.label for curve in curves])
        axes = pixel_axes(figure, left=34, right=right, top=_TOP, bottom=_BOTTOM)
        _set_scales(axes, curves, unit, metric)
        for curve in curves:
            _draw(axes, curve)
        name_line_ends(axes, [_end(curve) for curve in curves], top=_TOP)

    return inline_svg(draw, name=name, label=label, size=_SIZE)


def _set_scales(axes: Axes, curves: Sequence[LabelCurve], unit: str, metric: str) -> None:
    people = sorted({point.people for curve in curves for point in curve.curve.points})
    values = [100 * point.value for curve in curves for point in curve.curve.points]
    low, high = limits(values)
    axes.set_xscale("log", base=2)
    axes.set(xlim=(people[0] / 1.1, people[-1] * 1.1), ylim=(max(low, 0), min(high, 100)))
    shown = _every_other(people)
    axes.set_xticks(shown, [f"{n:,}" for n in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(f"annotated {unit}")
    name_above(axes, f"{metric}, per cent")
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y")


def _every_other(people: Sequence[int], most: int = 7) -> list[int]:
    """Return few enough of the numbers to be read, the last among them."""
    step = -(-len(people) // most)
    return list(people[::-1][::step])[::-1]


def _draw(axes: Axes, curve: LabelCurve) -> None:
    points = curve.curve.points
    axes.plot(
        [point.people for point in points],
        100 * np.array([point.value for point in points]),
        color=curve.style.colour,
        linestyle=curve.style.dash,
        marker=curve.style.marker,
        markersize=4.5,
        linewidth=1.6,
    )


def _end(curve: LabelCurve) -> NamedEnd:
    last = curve.curve.points[-1]
    return NamedEnd(curve.label, curve.style, (float(last.people), 100 * last.value))
