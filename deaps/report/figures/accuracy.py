"""Accuracy of every representation in one benchmark: mean, interval, folds, the paper's figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from numpy.typing import NDArray

from deaps.report.figures.drawing import pixel_axes, points, shortened, text_width
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, RULE, SeriesStyle

_WIDTH = 440
_ROW = 27
_TOP = 22
_BOTTOM = 40
_LABEL_LENGTH = 24
_GROUP_GAP = 0.5
"""Space between methods and floors, in rows."""


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One representation, in per cent."""

    label: str
    style: SeriesStyle
    group: int
    """Rows of another group stand apart."""
    value: float
    low: float | None
    high: float | None
    folds: tuple[float, ...]
    paper: float | None
    best: bool


def accuracy_plot(rows: Sequence[AccuracyRow], *, majority: float, name: str, label: str) -> Markup:
    """Return a row of dots for each representation, with the majority class as a line."""
    places = _places(rows)
    height = _TOP + _BOTTOM + _ROW * (places[-1] + 1 if len(rows) else 1)

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row.label, _LABEL_LENGTH) for row in rows]
        axes = pixel_axes(figure, left=14 + text_width(labels), right=16, top=_TOP, bottom=_BOTTOM)
        _set_scales(axes, rows, places, labels, majority)
        _draw_majority(axes, majority)
        for row, place in zip(rows, places, strict=True):
            _draw_row(axes, row, place)

    return inline_svg(draw, name=name, label=label, size=(_WIDTH, height))


def _places(rows: Sequence[AccuracyRow]) -> NDArray[np.float64]:
    groups = np.array([row.group for row in rows], dtype=float)
    steps = np.diff(groups, prepend=groups[:1]) != 0
    return np.arange(len(rows)) + _GROUP_GAP * np.cumsum(steps)


def _set_scales(
    axes: Axes,
    rows: Sequence[AccuracyRow],
    places: NDArray[np.float64],
    labels: Sequence[str],
    majority: float,
) -> None:
    shown = [majority]
    for row in rows:
        optional = (row.low, row.high, row.paper)
        shown += [row.value, *row.folds, *(v for v in optional if v is not None)]
    finite = [value for value in shown if np.isfinite(value)]
    low = max(0.0, 10 * np.floor(min(finite) / 10 - 0.1))
    high = min(100.0, 10 * np.ceil(max(finite) / 10 + 0.1))
    axes.set(xlim=(low - 0.5, high + 0.5), ylim=(places[-1] + 0.6, -0.6))
    axes.set_yticks(places, labels)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_xlabel("accuracy, per cent")
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    for row, tick in zip(rows, axes.get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if row.best else "normal")


def _draw_majority(axes: Axes, majority: float) -> None:
    axes.axvline(majority, color=MUTED, linewidth=1, dashes=(4, 2))
    left, right = axes.get_xlim()
    share = (majority - left) / (right - left)
    axes.text(
        min(max(share, 0.12), 0.88),
        1.02,
        f"majority class {majority:.1f}",
        transform=axes.transAxes,
        ha="center",
        va="bottom",
        color=MUTED,
        fontsize=10,
    )


def _draw_row(axes: Axes, row: AccuracyRow, place: float) -> None:
    axes.axhline(place, color=RULE, linewidth=0.6, zorder=0.5)
    if len(row.folds) > 1:
        heights = place + fold_offsets(row.folds)
        points(
            axes, row.folds, heights, shape="circle", colour=row.style.colour, size=4, alpha=0.45
        )
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [place, place], color=row.style.colour, linewidth=2.4)
    if row.paper is not None:
        axes.plot([row.paper], [place], marker="d", markersize=8, color=INK, markerfacecolor="none")
    axes.plot([row.value], [place], marker=row.style.marker, markersize=7, color=row.style.colour)


def fold_offsets(
    values: Sequence[float], *, near: float = 2.0, step: float = 0.13
) -> NDArray[np.float64]:
    """Return offsets, in rows, that keep folds of nearly the same accuracy from hiding each other.

    Folds within ``near`` per cent of one already placed move up and down in turn.
    """
    offsets = np.zeros(len(values))
    for place, value in enumerate(values):
        before = sum(abs(value - other) < near for other in values[:place])
        offsets[place] = step * ((before + 1) // 2) * (-1 if before % 2 else 1)
    return np.clip(offsets, -0.4, 0.4)
