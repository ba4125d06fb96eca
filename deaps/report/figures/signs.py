"""Signs of legends: a line with its marker, a point, a patterned area."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.report.figures.drawing import bare_axes, patterned_area, points
from deaps.report.svg import inline_svg
from deaps.report.theme import Dash, SeriesStyle, Shape

_LINE_SIZE = (34, 14)
_SQUARE_SIZE = (14, 14)
_AREA_SIZE = (26, 14)


def series_sign(style: SeriesStyle, *, name: str) -> Markup:
    """Return the marker of a representation on its line."""

    def draw(figure: MplFigure) -> None:
        axes = _unit_axes(figure)
        axes.plot([0, 1], [0.5, 0.5], color=style.colour, linestyle=style.dash, linewidth=1.6)
        axes.plot([0.5], [0.5], color=style.colour, marker=style.marker, markersize=7)

    return inline_svg(draw, name=name, label="", size=_LINE_SIZE)


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
