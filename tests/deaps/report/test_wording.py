"""Numbers as people read them."""

from __future__ import annotations

import pytest

from deaps.report.wording import (
    counts,
    duration,
    interval,
    listed,
    number,
    ordinal,
    percent,
    significant,
    slug,
)


@pytest.mark.parametrize(
    ("share", "text"), [(0.7938, "79.4"), (1.0, "100.0"), (None, "–"), (float("nan"), "–")]
)
def test_percent(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_interval_is_empty_without_both_ends() -> None:
    assert interval(0.5, 0.625) == "[50.0–62.5]"
    assert interval(0.5, None) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(1420.4, "1,420"), (0.03123, "0.0312"), (0.0, "0"), (-2.5, "−2.50"), (float("inf"), "–")],
)
def test_significant(value: float, text: str) -> None:
    assert significant(value) == text


def test_number_has_a_true_minus_and_no_negative_zero() -> None:
    assert number(-0.031) == "−0.03"
    assert number(-0.001) == "0.00"


@pytest.mark.parametrize(
    ("seconds", "text"), [(3.24, "3.2 s"), (250, "4 min 10 s"), (7500, "2 h 5 min")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_words() -> None:
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"]) == "a"
    assert counts({"normal": 5050, "AFib": 738}) == "normal 5,050, AFib 738"
    assert [ordinal(2), ordinal(11)] == ["second", "11th"]
    assert slug("AFib, MIT-ARR (é)") == "afib-mit-arr-e"
