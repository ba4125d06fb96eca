"""Colours that can be read in both themes, and series that differ in more than colour."""

from __future__ import annotations

import pytest

from deaps.evaluation import Representation
from deaps.report.theme import DARK, LIGHT, N_SERIES, series_styles

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG 2."""
    shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
def test_strips_stand_out_from_their_paper(theme: dict[str, str]) -> None:
    assert contrast(theme["ink"], theme["ecg-coarse"]) >= 7


def test_representations_of_a_role_differ_without_colour() -> None:
    many = [Representation(name=str(k), label=str(k), role="method", features=1) for k in range(12)]
    styles = series_styles(many).values()
    assert len({(style.marker, style.dash) for style in styles}) == len(many)
