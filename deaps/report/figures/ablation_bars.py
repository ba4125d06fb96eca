"""Accuracy by the setting of an ablation, with the paper's beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.report.figures.drawing import pixel_axes, shortened, text_width
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, SERIES

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
