"""What several drawings need: axes placed in pixels, room for labels, points as one path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from deaps.report.svg import FONT_SIZE, inline_svg
from deaps.report.theme import MUTED, RULE, Dash, SeriesStyle, Shape

_CHARACTER = 0.59
"""Mean width of a character in the widest of the usual fonts, in font sizes."""

_OUTLINES: dict[Shape, tuple[tuple[float, float], ...]] = {
    "triangle": ((0, 0.64), (0.6, -0.42), (-0.6, -0.42)),
    "square": ((-0.44, -0.44), (0.44, -0.44), (0.44, 0.44), (-0.44, 0.44)),
    "diamond": ((0, -0.64), (0.64, 0), (0, 0.64), (-0.64, 0)),
}
_STROKES: dict[Shape, tuple[tuple[float, float], ...]] = {
    "circle": ((0, 0), (0, 0)),
    "cross": ((-0.42, -0.42), (0.42, 0.42), (-0.42, 0.42), (0.42, -0.42)),
    "plus": ((-0.55, 0), (0.55, 0), (0, -0.55), (0, 0.55)),
}


def pixel_axes(
    figure: MplFigure,
    *,
    left: float = 0,
    right: float = 0,
    top: float = 0,
    bottom: float = 0,
) -> Axes:
    """Return axes that leave these margins of the figure, in pixels."""
    width, height = figure.get_size_inches() * figure.dpi
    axes = figure.add_axes(
        (left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height)
    )
    axes.patch.set_visible(False)
    return axes


def bare_axes(figure: MplFigure, *, margin: float = 0) -> Axes:
    """Return axes without ticks, labels and frame."""
    axes = pixel_axes(figure, left=margin, right=margin, top=margin, bottom=margin)
    axes.set_axis_off()
    return axes


def name_above(axes: Axes, text: str) -> None:
    """Write what the vertical axis shows above it, where it reads without turning the head."""
    axes.annotate(
        text,
        (0, 1),
        xycoords=(axes.figure.transFigure, "axes fraction"),
        xytext=(2, 7),
        textcoords="offset points",  # as many pixels of the page; a PNG has two for each
        color=MUTED,
        fontsize=FONT_SIZE - 0.5,
    )


def text_width(texts: Sequence[str], *, size: float = FONT_SIZE) -> float:
    """Return the estimated width of the longest text, in pixels."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return _CHARACTER * size * longest


def shortened(text: str, length: int) -> str:
    """Return the text, cut off with an ellipsis where it is longer than so many characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def limits(values: ArrayLike, *, share: float = 0.06) -> tuple[float, float]:
    """Return the range of the finite values with a margin at both ends."""
    array = np.asarray(values, dtype=float)
    finite = array[np.isfinite(array)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    margin = share * (high - low) or max(abs(high), 1) * share
    return low - margin, high + margin


def points(
    axes: Axes,
    x: ArrayLike,
    y: ArrayLike,
    *,
    shape: Shape,
    colour: str,
    size: float,
    alpha: float = 1.0,
) -> None:
    """Draw points of one shape as a single path: a tenth of the bytes of one element each.

    The axes' limits must be final, because the path is in pixels.
    """
    centres = axes.transData.transform(np.column_stack([x, y]))
    filled = shape in _OUTLINES
    path = _filled(centres, shape, size) if filled else _stroked(centres, shape, size)
    path.should_simplify = False  # a line without length, drawn as a dot, would be dropped
    axes.add_patch(
        PathPatch(
            path,
            transform=IdentityTransform(),
            facecolor=colour if filled else "none",
            edgecolor="none" if filled else colour,
            linewidth=size if shape == "circle" else 0.28 * size,
            capstyle="round",
            alpha=alpha,
        )
    )


def _filled(centres: NDArray[np.float64], shape: Shape, size: float) -> Path:
    outline = np.array([*_OUTLINES[shape], (0, 0)]) * size
    codes = [Path.MOVETO, *[Path.LINETO] * (len(outline) - 2), Path.CLOSEPOLY]
    vertices = centres[:, None, :] + outline[None]
    return Path(vertices.reshape(-1, 2), codes * len(centres))


def _stroked(centres: NDArray[np.float64], shape: Shape, size: float) -> Path:
    ends = np.array(_STROKES[shape]) * size
    codes = [Path.MOVETO, Path.LINETO] * (len(ends) // 2)
    vertices = centres[:, None, :] + ends[None]
    return Path(vertices.reshape(-1, 2), codes * len(centres))


def patterned_area(
    axes: Axes, box: tuple[float, float, float, float], *, colour: str, hatch: str
) -> None:
    """Draw an area (left, bottom, width, height): full, or pale under a pattern."""
    left, bottom, width, height = box
    area = Rectangle((left, bottom), width, height, facecolor=colour, edgecolor="none")
    area.set_alpha(0.2 if hatch else 1)
    axes.add_patch(area)
    # The pattern takes the edge's colour, and an alpha would make it pale too: a second area.
    axes.add_patch(
        Rectangle(
            (left, bottom),
            width,
            height,
            facecolor="none",
            edgecolor=colour,
            linewidth=0.8,
            hatch=hatch or None,
        )
    )


def spread(
    places: Sequence[float], gap: float, *, low: float = -np.inf, high: float = np.inf
) -> NDArray[np.float64]:
    """Return places at least ``gap`` apart, in the same order and near the given ones.

    What would leave ``low`` to ``high`` is moved back inside, as far as there is room.
    """
    order = np.argsort(places, kind="stable")
    moved = np.asarray(places, dtype=float)[order]
    steps = gap * np.arange(len(moved))
    # Without the steps, "at least a gap apart" means "not falling": the nearest such series.
    moved = isotonic_regression(moved - steps).x + steps if len(moved) else moved
    if len(moved):
        moved -= max(moved[-1] - high, 0.0)
        moved += max(low - moved[0], 0.0)
    result = np.empty(len(moved))
    result[order] = moved
    return result


_LINE_SIZE = (34, 14)
_SQUARE_SIZE = (14, 14)
_AREA_SIZE = (26, 14)


def line_sign(colour: str, *, name: str, dash: Dash = (0, None)) -> Markup:
    """Return a piece of a line."""

    def draw(figure: MplFigure) -> None:
        axes = _unit_axes(figure)
        axes.plot([0, 1], [0.5, 0.5], color=colour, linestyle=dash, linewidth=1.6)

    return inline_svg(draw, name=name, label="", size=_LINE_SIZE)


def marker_sign(marker: str, colour: str, *, name: str, filled: bool = True) -> Markup:
    """Return a marker, filled or open."""

    def draw(figure: MplFigure) -> None:
        face = colour if filled else "none"
        axes = _unit_axes(figure)
        axes.plot([0.5], [0.5], marker=marker, markersize=8, color=colour, markerfacecolor=face)

    return inline_svg(draw, name=name, label="", size=_SQUARE_SIZE)


def point_sign(shape: Shape, colour: str, *, name: str) -> Markup:
    """Return a point of a scatter."""

    def draw(figure: MplFigure) -> None:
        points(_unit_axes(figure), [0.5], [0.5], shape=shape, colour=colour, size=9)

    return inline_svg(draw, name=name, label="", size=_SQUARE_SIZE)


def area_sign(colour: str, hatch: str, *, name: str) -> Markup:
    """Return a patch of a patterned area."""

    def draw(figure: MplFigure) -> None:
        patterned_area(_unit_axes(figure), (0.04, 0.08, 0.92, 0.84), colour=colour, hatch=hatch)

    return inline_svg(draw, name=name, label="", size=_AREA_SIZE)


def _unit_axes(figure: MplFigure) -> Axes:
    axes = bare_axes(figure)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    return axes


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
    """Write each name next to its line's end; ``top`` is the margin above the axes in pixels."""
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
