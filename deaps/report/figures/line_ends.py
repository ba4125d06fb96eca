"""Names of lines right of their ends, moved apart where two would touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.transforms import IdentityTransform

from deaps.report.figures.drawing import shortened, spread, text_width
from deaps.report.theme import RULE, SeriesStyle

_LABEL_GAP = 14
_LABEL_LENGTH = 18
_SIGN_ROOM = 42


class NamedEnd(NamedTuple):
    """Where a line ends, and what it is called."""

    label: str
    style: SeriesStyle
    place: tuple[float, float]
    """In the units of the axes."""


def room_for_names(labels: Sequence[str]) -> float:
    """Return the right margin that the names need, in pixels."""
    return _SIGN_ROOM + text_width([shortened(label, _LABEL_LENGTH) for label in labels])


def name_line_ends(axes: Axes, ends: Sequence[NamedEnd], *, top: float) -> None:
    """Write each name beside its line's end; ``top`` is the margin above the axes in pixels."""
    places = [axes.transData.transform(end.place) for end in ends]
    box = axes.get_window_extent()
    heights = spread([place[1] for place in places], _LABEL_GAP, low=box.y0, high=box.y1 + top / 2)
    for end, place, height in zip(ends, places, heights, strict=True):
        _in_pixels(axes, [place[0], box.x1 + 8], [place[1], height], color=RULE, linewidth=0.8)
        sign = [box.x1 + 10, box.x1 + 22, box.x1 + 34]
        style = end.style
        _in_pixels(axes, sign, [height] * 3, color=style.colour, linestyle=style.dash)
        _in_pixels(axes, sign[1:2], [height], color=style.colour, marker=style.marker, markersize=6)
        label = shortened(end.label, _LABEL_LENGTH)
        axes.text(sign[-1] + 4, height, label, va="center_baseline", transform=IdentityTransform())


def _in_pixels(axes: Axes, x: Sequence[float], y: Sequence[float], **style: Any) -> None:
    axes.plot(x, y, transform=IdentityTransform(), clip_on=False, **style)
