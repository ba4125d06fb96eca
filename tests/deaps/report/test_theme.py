"""Colours that can be read in both themes, and series that differ in more than colour."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from deaps.evaluation.document import Representation
from deaps.report.theme import DARK, LIGHT, N_SERIES, series_styles

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


COLOUR_VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red cones": (
        (0.1523, 1.0526, -0.2049),
        (0.1145, 0.7863, 0.0992),
        (-0.0039, -0.0481, 1.052),
    ),
    "no green cones": (
        (0.3673, 0.8606, -0.228),
        (0.2801, 0.6725, 0.0474),
        (-0.0118, 0.0429, 0.9689),
    ),
}
"""Linear RGB as it is seen, by Machado, Oliveira and Fernandes (2009), severity 1."""

TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)


def linear(colour: str) -> NDArray[np.float64]:
    """Return linear red, green and blue of sRGB, 0 to 1."""
    shares = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    return float(np.dot([0.2126, 0.7152, 0.0722], linear(colour)))


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return CIELAB of linear RGB; a just noticeable difference is about 2.3 long."""
    shares = np.array(TO_XYZ) @ rgb.clip(0, 1) / WHITE
    x, y, z = np.where(shares > 0.008856, np.cbrt(shares), 7.787 * shares + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_both_themes_have_the_same_names() -> None:
    assert LIGHT.keys() == DARK.keys()


@THEMES
@pytest.mark.parametrize("ground", ["page", "raised"])
def test_texts_can_be_read(theme: dict[str, str], ground: str) -> None:
    assert contrast(theme["ink"], theme[ground]) >= 12
    assert contrast(theme["muted"], theme[ground]) >= 4.5
    assert contrast(theme["accent"], theme[ground]) >= 4.5


@THEMES
def test_series_stand_out_from_the_page(theme: dict[str, str]) -> None:
    for place in range(1, N_SERIES + 1):
        assert contrast(theme[f"series-{place}"], theme["page"]) >= 3


@THEMES
@pytest.mark.parametrize("vision", COLOUR_VISION)
def test_people_with_red_green_blindness_can_distinguish_the_series(
    theme: dict[str, str], vision: str
) -> None:
    seen = np.array(COLOUR_VISION[vision])
    places = [lab(seen @ linear(theme[f"series-{k}"])) for k in range(1, N_SERIES + 1)]
    assert min(np.linalg.norm(a - b) for a, b in combinations(places, 2)) > 15


@THEMES
def test_strips_stand_out_from_their_paper(theme: dict[str, str]) -> None:
    assert contrast(theme["ink"], theme["ecg-coarse"]) >= 7


def test_representations_of_a_role_differ_without_colour() -> None:
    many = [Representation(name=str(k), label=str(k), role="method", features=1) for k in range(12)]
    styles = series_styles(many).values()
    assert len({(style.marker, style.dash) for style in styles}) == len(many)
