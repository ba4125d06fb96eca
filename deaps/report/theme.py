"""Colours of the page, light and dark, and the signs that distinguish series.

Drawings use stand-in colours, which `inline_svg` turns into the page's variables. So one drawing
serves both themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from deaps.evaluation.document import Representation, RepresentationRole

LIGHT: dict[str, str] = {
    "page": "#ffffff",
    "raised": "#f6f7f9",
    "ink": "#1a1e23",
    "muted": "#59636e",
    "rule": "#d3d8de",
    "grid": "#e6e9ed",
    "accent": "#1250b8",
    "series-1": "#1250b8",
    "series-2": "#d9580a",
    "series-3": "#2b8f73",
    "series-4": "#8a2a78",
    "series-5": "#574a12",
    "series-6": "#4a90cb",
    "ecg-fine": "#f8e3df",
    "ecg-coarse": "#eec4bd",
}

DARK: dict[str, str] = {
    "page": "#14171b",
    "raised": "#1c2026",
    "ink": "#e7eaee",
    "muted": "#9ea8b3",
    "rule": "#373e47",
    "grid": "#272d34",
    "accent": "#8dbbff",
    "series-1": "#6aa7ff",
    "series-2": "#ffb86b",
    "series-3": "#2aa577",
    "series-4": "#f873c3",
    "series-5": "#c27a2c",
    "series-6": "#c4e6ff",
    "ecg-fine": "#2c2021",
    "ecg-coarse": "#4a2f30",
}
"""Same names as `LIGHT`. People with red-green blindness can distinguish the series."""

N_SERIES = 6

# Stand-ins: any colours that matplotlib would not write by itself; it drops black from texts.
INK = "#0a0b01"
MUTED = "#0a0b02"
RULE = "#0a0b03"
GRID = "#0a0b04"
PAGE = "#0a0b05"
ECG_FINE = "#0a0b06"
ECG_COARSE = "#0a0b07"
SERIES = tuple(f"#0a0b{16 + k:02x}" for k in range(N_SERIES))

VARIABLES: dict[str, str] = {
    INK: "currentColor",
    MUTED: "var(--muted)",
    RULE: "var(--rule)",
    GRID: "var(--grid)",
    PAGE: "var(--page)",
    ECG_FINE: "var(--ecg-fine)",
    ECG_COARSE: "var(--ecg-coarse)",
} | {stand_in: f"var(--series-{k})" for k, stand_in in enumerate(SERIES, start=1)}
"""CSS value of each stand-in."""

Dash: TypeAlias = tuple[float, tuple[float, ...] | None]

_MARKERS: dict[RepresentationRole, str] = {
    "method": "os^DvP",
    "baseline": "X*dp",
    "joined": "H",
    "ablation": "<>phdH",
    "trial": "dp<>h",
}
_DASHES: tuple[Dash, ...] = (
    (0, None),
    (0, (6, 2)),
    (0, (2, 1.5)),
    (0, (7, 2, 1.5, 2)),
    (0, (1, 1.5)),
    (0, (4, 1.5, 1, 1.5, 1, 1.5)),
)

HATCHES = ("", "////", "xxxx", "....", "\\\\\\\\", "++++")
"""Patterns of areas: they differ without colour, too."""

Shape = Literal["circle", "triangle", "square", "diamond", "cross", "plus"]
SHAPES: tuple[Shape, ...] = ("circle", "triangle", "square", "diamond", "cross", "plus")
"""Signs of points by class."""


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How a representation is drawn, the same in every figure."""

    colour: str
    marker: str
    dash: Dash


def series_styles(representations: Sequence[Representation]) -> dict[str, SeriesStyle]:
    """Return the style of each representation, by name; baselines are grey.

    Within a role, marker, colour and dash repeat only after all combinations are used.
    """
    seen: dict[RepresentationRole, int] = {}
    styles = {}
    for representation in representations:
        place = seen.setdefault(representation.role, 0)
        seen[representation.role] += 1
        markers = _MARKERS[representation.role]
        styles[representation.name] = SeriesStyle(
            colour=MUTED if representation.role == "baseline" else SERIES[place % N_SERIES],
            marker=markers[place % len(markers)],
            # After a full round of colours the dashes move on by one.
            dash=_DASHES[(place + place // N_SERIES) % len(_DASHES)],
        )
    return styles
