"""What several drawings need: axes placed in pixels, room for labels, points as one path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import IdentityTransform
from numpy.typing import ArrayLike, NDArray

from deaps.report.svg import FONT_SIZE
from deaps.report.theme import MUTED, Shape

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
    moved = _not_falling(moved - steps) + steps
    if len(moved):
        moved -= max(moved[-1] - high, 0.0)
        moved += max(low - moved[0], 0.0)
    result = np.empty(len(moved))
    result[order] = moved
    return result


def _not_falling(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest series that never falls: neighbours that do are pooled to their mean."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean = (mean * size + before * count) / (size + count)
            size += count
        pools.append((mean, size))
    return np.array([mean for mean, size in pools for _ in range(size)])
