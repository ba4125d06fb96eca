"""Shares of quality classes by data set and visit."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.report.figures.drawing import patterned_area, pixel_axes, shortened, text_width
from deaps.report.svg import inline_svg
from deaps.report.theme import HATCHES, INK, N_SERIES, SERIES

_WIDTH = 440
_ROW = 30
_TOP = 6
_BOTTOM = 38
_LABEL_LENGTH = 26


def quality_sign(place: int) -> tuple[str, str]:
    """Return colour and pattern of the quality class at that place."""
    return SERIES[place % N_SERIES], HATCHES[place % len(HATCHES)]


def quality_plot(rows: Sequence[tuple[str, Sequence[float]]], *, name: str, label: str) -> Markup:
    """Return a stacked bar for each row: its label, and the share of each class."""

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row[0], _LABEL_LENGTH) for row in rows]
        left = 14 + text_width(labels)
        axes = pixel_axes(figure, left=left, right=16, top=_TOP, bottom=_BOTTOM)
        axes.set(xlim=(0, 100), ylim=(len(rows) - 0.5, -0.5))
        axes.set_yticks(range(len(rows)), labels)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel("share of windows, per cent")
        axes.spines["left"].set_visible(False)
        for place, (_, shares) in enumerate(rows):
            _draw_row(axes, place, shares)

    return inline_svg(
        draw, name=name, label=label, size=(_WIDTH, _TOP + _BOTTOM + _ROW * len(rows))
    )


def _draw_row(axes: Axes, place: int, shares: Sequence[float]) -> None:
    start = 0.0
    for which, share in enumerate(shares):
        colour, hatch = quality_sign(which)
        if share > 0:
            box = (start, place - 0.3, 100 * share, 0.6)
            patterned_area(axes, box, colour=colour, hatch=hatch)
        start += 100 * share
