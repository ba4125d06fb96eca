"""Mean ranks of the methods on one line, with the difference that would tell two apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.report.figures.drawing import pixel_axes, shortened, text_width
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, RULE, SeriesStyle

_WIDTH = 440
_ROW = 26
_TOP = 34
_BOTTOM = 40
_LABEL_LENGTH = 24


@dataclass(frozen=True, slots=True)
class RankRow:
    """One method."""

    label: str
    style: SeriesStyle
    mean: float
    by_benchmark: Mapping[str, float]


def rank_plot(
    rows: Sequence[RankRow], *, critical_difference: float | None, name: str, label: str
) -> Markup:
    """Return a row for each method: its mean rank, and a small dot for each benchmark."""

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row.label, _LABEL_LENGTH) for row in rows]
        left = 14 + text_width(labels)
        axes = pixel_axes(figure, left=left, right=16, top=_TOP, bottom=_BOTTOM)
        axes.set(xlim=(0.8, len(rows) + 0.2), ylim=(len(rows) - 0.4, -0.6))
        axes.set_xticks(range(1, len(rows) + 1))
        axes.set_yticks(range(len(rows)), labels)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel("mean rank, 1 is the best")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        for place, row in enumerate(rows):
            _draw_row(axes, row, place)
        if critical_difference is not None:
            _draw_critical(axes, critical_difference, len(rows))

    height = _TOP + _BOTTOM + _ROW * len(rows)
    return inline_svg(draw, name=name, label=label, size=(_WIDTH, height))


def _draw_row(axes: Axes, row: RankRow, place: int) -> None:
    axes.axhline(place, color=RULE, linewidth=0.6, zorder=0.5)
    ranks = list(row.by_benchmark.values())
    colour = row.style.colour
    axes.plot(ranks, [place] * len(ranks), ".", color=colour, markersize=5, alpha=0.5)
    axes.plot([row.mean], [place], marker=row.style.marker, markersize=8, color=colour)


def _draw_critical(axes: Axes, critical: float, n_methods: int) -> None:
    """Draw the critical difference above the axes, from the best rank on."""
    transform = axes.get_xaxis_transform()
    end = min(1 + critical, n_methods + 0.2)
    axes.plot([1, end], [1.06] * 2, color=INK, linewidth=2, transform=transform, clip_on=False)
    text = f"critical difference {critical:.2f}"
    axes.text(1, 1.1, text, transform=transform, color=MUTED, fontsize=10, va="bottom")
