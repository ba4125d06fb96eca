"""Differences of a reference to its rivals, each with its interval, around zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.report.figures.drawing import pixel_axes, shortened, text_width
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, PAGE, RULE, SeriesStyle

_WIDTH = 440
_ROW = 24
_TOP = 8
_BOTTOM = 40
_LABEL_LENGTH = 24
_MARGIN = 0.06


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """One rival, in points."""

    label: str
    style: SeriesStyle
    value: float
    low: float
    high: float
    """Of this rival's own interval."""
    family_low: float
    family_high: float
    """Of the interval that allows for the number of rivals."""
    counts: bool


def difference_plot(rows: Sequence[DifferenceRow], *, axis: str, name: str, label: str) -> Markup:
    """Return a row for each rival: a filled sign where the difference counts, else an open one."""
    height = _TOP + _BOTTOM + _ROW * len(rows)

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row.label, _LABEL_LENGTH) for row in rows]
        axes = pixel_axes(figure, left=14 + text_width(labels), right=16, top=_TOP, bottom=_BOTTOM)
        low = min([0.0, *(row.family_low for row in rows)])
        high = max([0.0, *(row.family_high for row in rows)])
        margin = _MARGIN * (high - low) or 1.0
        axes.set(xlim=(low - margin, high + margin), ylim=(len(rows) - 0.4, -0.6))
        axes.set_yticks(range(len(rows)), labels)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel(axis)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.axvline(0, color=MUTED, linewidth=1)
        for place, row in enumerate(rows):
            _draw_row(axes, row, place)

    return inline_svg(draw, name=name, label=label, size=(_WIDTH, height))


def _draw_row(axes: Axes, row: DifferenceRow, place: int) -> None:
    axes.axhline(place, color=RULE, linewidth=0.6, zorder=0.5)
    colour = row.style.colour
    axes.plot([row.family_low, row.family_high], [place] * 2, color=colour, linewidth=1)
    axes.plot([row.low, row.high], [place] * 2, color=colour, linewidth=2.8)
    axes.plot(
        [row.value],
        [place],
        marker=row.style.marker,
        markersize=7,
        color=colour,
        markerfacecolor=colour if row.counts else PAGE,
    )
