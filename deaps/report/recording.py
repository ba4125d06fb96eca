"""One recording from start to end: the quality class of each window, and its heart rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from deaps.report.drawing import limits, name_above, pixel_axes, text_width
from deaps.report.quality import quality_sign
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, RULE

_WIDTH = 720
_LANE = 26
_MARKS = 22
_BETWEEN = 34
_RATE = 110
_BOTTOM = 38
_RIGHT = 10


@dataclass(frozen=True, slots=True)
class Night:
    """The windows of a recording in order of time; every array has shape (n,)."""

    start_min: NDArray[np.float64]
    window_min: float
    quality: NDArray[np.str_]
    heart_rate: NDArray[np.float64]
    """Beats/min, NaN where a window has fewer than two beats."""


def night_plot(
    night: Night, classes: Sequence[str], marks: Sequence[float], *, name: str, label: str
) -> Markup:
    """Return a lane for each quality class, and the heart rate below on the same time axis.

    ``marks`` are times in minutes; a number stands above each, counted from 1.
    """
    lanes = _LANE * len(classes)
    height = _MARKS + lanes + _BETWEEN + _RATE + _BOTTOM

    def draw(figure: MplFigure) -> None:
        left = 14 + text_width(classes)
        above = pixel_axes(
            figure, left=left, right=_RIGHT, top=_MARKS, bottom=height - _MARKS - lanes
        )
        below = pixel_axes(
            figure, left=left, right=_RIGHT, top=height - _BOTTOM - _RATE, bottom=_BOTTOM
        )
        _draw_lanes(above, night, classes)
        _draw_rate(below, night)
        for number, minute in enumerate(marks, start=1):
            _draw_mark(above, below, minute, number)

    return inline_svg(draw, name=name, label=label, size=(_WIDTH, height))


def _draw_lanes(axes: Axes, night: Night, classes: Sequence[str]) -> None:
    axes.set(xlim=(0, _length(night)), ylim=(len(classes) - 0.5, -0.5))
    axes.set_yticks(range(len(classes)), classes)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.tick_params(axis="x", bottom=False, labelbottom=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    for place, quality in enumerate(classes):
        axes.axhline(place, color=RULE, linewidth=0.8, zorder=0.5)
        bars = [
            (night.start_min[first], (last - first) * night.window_min)
            for first, last in _stretches(night.quality == quality)
        ]
        axes.broken_barh(bars, (place - 0.36, 0.72), facecolors=quality_sign(place)[0])


def _draw_rate(axes: Axes, night: Night) -> None:
    axes.set(xlim=(0, _length(night)), ylim=limits(night.heart_rate, share=0.12))
    axes.plot(night.start_min + night.window_min / 2, night.heart_rate, color=INK, linewidth=1)
    name_above(axes, "highest heart rate in each window, beats/min")
    axes.set_xlabel("minutes from the start")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda minute, _: f"{minute:g}"))
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y")


def _draw_mark(above: Axes, below: Axes, minute: float, number: int) -> None:
    for axes in (above, below):
        axes.axvline(minute, color=MUTED, linewidth=0.8, dashes=(3, 2))
    above.annotate(
        str(number),
        (minute, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 5),
        textcoords="offset pixels",
        ha="center",
        fontweight="bold",
    )


def _length(night: Night) -> float:
    return float(night.start_min[-1] + night.window_min)


def _stretches(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first place and end of each run of true values."""
    edges = np.flatnonzero(np.diff(chosen.astype(np.int8), prepend=0, append=0))
    return [(int(first), int(end)) for first, end in edges.reshape(-1, 2)]
