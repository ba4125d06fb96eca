"""Drawings of the report as files: PNG and SVG in the page's light colours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from deaps.report.svg import DRAWING_SETTINGS
from deaps.report.theme import LIGHT, VARIABLES
from storage.errors import DeapsError
from storage.files import replacing

_POINTS_PER_INCH = 72
_PIXELS = 2
"""Pixels of a PNG for each pixel of the drawing: sharp on screens of high resolution."""

_MARGIN = 12
"""Empty pixels of the drawing on each side, which the page's own margin gives elsewhere."""

Drawing = Callable[[Figure], None]
"""Draws on an empty figure with the stand-in colours of `theme`."""

FORMATS = (".png", ".svg")
_COLOURED = ("color", "facecolor", "edgecolor", "markeredgecolor", "markerfacecolor")
"""What of an artist has a colour."""

_NAMED = {"currentColor": "ink"}


def write_picture(draw: Drawing, size: tuple[float, float], path: Path, *, title: str = "") -> None:
    """Write a drawing, whose format the ending names.

    Parameters
    ----------
    draw
        What draws it.
    size
        Width and height in pixels.
    """
    if path.suffix.lower() not in FORMATS:
        raise DeapsError(f"{path} ends with {path.suffix!r}; allowed are {', '.join(FORMATS)}")
    width, height = size
    head = 28 if title else 0
    with rc_context(DRAWING_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(
            figsize=(width / _POINTS_PER_INCH, height / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH
        )
        draw(figure)
        _add_head(figure, title, head)
        _recolour(figure)
        figure.patch.set_facecolor(LIGHT["page"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            kind = path.suffix.lower().removeprefix(".")
            metadata = {"Date": None} if kind == "svg" else {}
            dpi = _PIXELS * _POINTS_PER_INCH
            box = figure.bbox_inches.padded(_MARGIN / _POINTS_PER_INCH)
            figure.savefig(temporary, format=kind, metadata=metadata, dpi=dpi, bbox_inches=box)


def _add_head(figure: Figure, title: str, head: float) -> None:
    """Make room above the drawing for its title; axes keep their size in pixels."""
    if not title:
        return
    width, height = figure.get_size_inches() * _POINTS_PER_INCH
    figure.set_size_inches(width / _POINTS_PER_INCH, (height + head) / _POINTS_PER_INCH)
    share = height / (height + head)
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position((box.x0, box.y0 * share, box.width, box.height * share))
    figure.text(2 / width, 1 - 8 / (height + head), title, va="top", fontweight="bold")


def _recolour(figure: Figure) -> None:
    """Give every artist the page's light colours in place of the stand-ins."""
    colours = {stand_in: _light(variable) for stand_in, variable in VARIABLES.items()}
    for artist in figure.findobj():
        for what in _COLOURED:
            get, put = getattr(artist, f"get_{what}", None), getattr(artist, f"set_{what}", None)
            if get is not None and put is not None:
                _replace_colour(get(), put, colours)


def _replace_colour(value: Any, put: Callable[[Any], None], colours: dict[str, str]) -> None:
    try:
        given = to_hex(value[0] if getattr(value, "ndim", 1) == 2 else value)
    except (ValueError, TypeError, IndexError):  # none, or several
        return
    if given in colours:
        put(colours[given])


def _light(variable: str) -> str:
    name = _NAMED.get(variable) or variable.removeprefix("var(--").removesuffix(")")
    return LIGHT[name]
