"""Drawings of matplotlib: as SVG for the page, and as files."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from deaps.report.theme import GRID, INK, LIGHT, MUTED, VARIABLES
from storage.errors import DeapsError
from storage.files import replacing

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_POINTS_PER_INCH = 72
FONT_SIZE = 11
"""Of texts in drawings, in pixels."""
CLASS_MARK = "class:"
"""Start of an artist's gid that gives its element a class of the page's style sheet."""
_LONG_PATH = 2000

DRAWING_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "deaps",  # ids are renamed below; without it they would be random
    "text.parse_math": False,  # a dollar sign in a label is a dollar sign
    "font.family": ["DejaVu Sans"],
    "font.size": FONT_SIZE,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": FONT_SIZE - 0.5,
    "ytick.labelsize": FONT_SIZE - 0.5,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "xtick.major.width": 0.8,
    "hatch.linewidth": 0.8,
}

_NUMBER = re.compile(r"-?\d+\.\d+")
_COLOUR = re.compile("|".join(VARIABLES))
_FAMILY = re.compile(r"font-family:[^;]*;?\s*")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(
    draw: Callable[[Figure], None], *, name: str, label: str, size: tuple[float, float]
) -> Markup:
    """Return a drawing as an ``svg`` element for the page.

    Parameters
    ----------
    draw
        Draws on an empty figure with the stand-in colours of `theme`.
    name
        Start of all its ids, so it must be unique in the page.
    label
        Describes the drawing in words; empty for a sign that has its words next to it.
    size
        Width and height in pixels; texts have `FONT_SIZE` at this size.
    """
    width, height = size
    root = ElementTree.fromstring(_drawn(draw, width, height))  # noqa: S314 (made above)
    _drop_styles(root)
    _rename_ids(root, name)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        _adapt(element)
    words = {"role": "img", "aria-label": label} if label else {"aria-hidden": "true"}
    attributes = {"class": "plot" if label else "sign"} | words
    attributes |= {"viewBox": f"0 0 {width:g} {height:g}", "style": f"--w:{width:g}"}
    root.attrib.clear()
    root.attrib.update(attributes)
    return Markup(_compact(root))  # noqa: S704 (serialised above, so every text in it is escaped)


def _drawn(draw: Callable[[Figure], None], width: float, height: float) -> str:
    stream = io.StringIO()
    with rc_context(DRAWING_SETTINGS), warnings.catch_warnings():
        # Widths are estimated with matplotlib's font; the browser has glyphs that it lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(
            figsize=(width / _POINTS_PER_INCH, height / _POINTS_PER_INCH), dpi=_POINTS_PER_INCH
        )
        figure.patch.set_visible(False)
        draw(figure)
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", metadata=metadata)
    return stream.getvalue()


def _drop_styles(root: ElementTree.Element) -> None:
    """Remove matplotlib's style sheet: in a page it would hold for every element."""
    for parent in root.iter(f"{_SVG}defs"):
        for style in parent.findall(f"{_SVG}style"):
            parent.remove(style)


def _rename_ids(root: ElementTree.Element, name: str) -> None:
    """Keep only ids that something refers to, under names of this drawing's own."""
    used: dict[str, str] = {}
    for element in root.iter():
        for value in element.attrib.values():
            for reference in _REFERENCE.findall(value):
                used.setdefault(reference, f"{name}-{len(used)}")
        if _LINK in element.attrib:
            used.setdefault(element.attrib[_LINK][1:], f"{name}-{len(used)}")
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            element.attrib[key] = _REFERENCE.sub(lambda m: f"url(#{used[m[1]]})", value)
        if _LINK in element.attrib:
            element.attrib["href"] = f"#{used[element.attrib.pop(_LINK)[1:]]}"
        own = element.attrib.pop("id", "")
        if own in used:
            element.attrib["id"] = used[own]
        elif own.startswith(CLASS_MARK):
            element.attrib["class"] = own.removeprefix(CLASS_MARK)


def _adapt(element: ElementTree.Element) -> None:
    """Give one element the page's colours and font, and short numbers."""
    for key in ("style", "fill", "stroke"):
        if key in element.attrib:
            value = _FAMILY.sub("", element.attrib[key])
            element.attrib[key] = _COLOUR.sub(lambda m: VARIABLES[m[0]], value)
    for key in ("d", "x", "y", "transform", "width", "height"):
        if key in element.attrib:
            element.attrib[key] = _rounded(element.attrib[key])
    if element.attrib.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]


def _rounded(text: str) -> str:
    """Return coordinates with two decimals; long paths, where bytes count, with one."""
    decimals = 1 if len(text) > _LONG_PATH else 2
    return _NUMBER.sub(lambda m: _shortest(float(m[0]), decimals), " ".join(text.split()))


def _shortest(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _compact(root: ElementTree.Element) -> str:
    """Return the element as text, without white space between tags."""
    text = ElementTree.tostring(root, encoding="unicode")
    return re.sub(r">\s+<", "><", text)


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
