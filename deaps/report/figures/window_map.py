"""The embedding map: windows in two dimensions, and where each stands in the drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import EmbeddingMap
from deaps.report.figures.drawing import bare_axes, limits, points
from deaps.report.svg import inline_svg
from deaps.report.theme import N_SERIES, SERIES, SHAPES, Shape

_SIDE = 560
_POINT = 6.5
_MARGIN = 6


def class_sign(place: int) -> tuple[Shape, str]:
    """Return shape and colour of the class at that place."""
    return SHAPES[place % len(SHAPES)], SERIES[place % N_SERIES]


def map_plot(windows: EmbeddingMap, classes: Sequence[str], *, name: str, label: str) -> Markup:
    """Return the scatter, each class with a shape and colour of its own."""
    x, y, labels = np.array(windows.x), np.array(windows.y), np.array(windows.label)

    def draw(figure: MplFigure) -> None:
        axes = _axes(figure, windows)
        for place, class_name in enumerate(classes):
            shape, colour = class_sign(place)
            own = labels == class_name
            points(axes, x[own], y[own], shape=shape, colour=colour, size=_POINT, alpha=0.75)

    return inline_svg(draw, name=name, label=label, size=(_SIDE, _SIDE))


def map_places(windows: EmbeddingMap) -> list[list[float]]:
    """Return where each window stands in the drawing: x and y from its upper left corner."""
    inner = _SIDE - 2 * _MARGIN
    places = []
    for values, flipped in ((windows.x, False), (windows.y, True)):
        low, high = limits(values)
        shares = (np.array(values) - low) / (high - low)
        pixels = _MARGIN + inner * (1 - shares if flipped else shares)
        places.append([round(float(pixel), 1) for pixel in pixels])
    return places


def _axes(figure: MplFigure, windows: EmbeddingMap) -> Axes:
    axes = bare_axes(figure, margin=_MARGIN)
    axes.set(xlim=limits(windows.x), ylim=limits(windows.y))
    return axes
