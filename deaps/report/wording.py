"""Numbers as people read them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping

NOTHING = "–"
"""Stands where a figure is undefined or was not measured."""

_MINUTE_S = 60
_HOUR_S = 3600
_SMALLEST_P = 0.001


def percent(share: float | None) -> str:
    """Return a share of one as per cent with one decimal, without the sign: ``79.4``."""
    if share is None or not math.isfinite(share):
        return NOTHING
    return f"{100 * share:.1f}"


def percentage(share: float) -> str:
    """Return a share of one as per cent with its sign, for a sentence: ``79.4 %``."""
    # The space does not break, so that no line begins with the sign.
    return f"{percent(share)}\N{NO-BREAK SPACE}%"


def interval(low: float | None, high: float | None) -> str:
    """Return a confidence interval of shares as per cent: ``[70.1–86.3]``; empty without one."""
    if low is None or high is None:
        return ""
    return f"[{percent(low)}–{percent(high)}]"


def points(difference: float | None) -> str:
    """Return a difference of shares in points, with its sign: ``+5.1``, ``−3.9``."""
    if difference is None or not math.isfinite(difference):
        return NOTHING
    return _with_minus(f"{100 * difference:+.1f}")


def points_between(low: float, high: float) -> str:
    """Return the interval of a difference in points: ``[+0.9, +9.3]``."""
    return f"[{points(low)}, {points(high)}]"


def probability(p: float) -> str:
    """Return a p value: ``0.016``, or ``< 0.001``."""
    return "< 0.001" if p < _SMALLEST_P else f"{p:.3f}"


def number(value: float | None, decimals: int = 2) -> str:
    """Return a number with so many decimals and groups of thousands."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return _with_minus(f"{value:,.{decimals}f}")


def significant(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits: ``1,420``, ``0.0312``."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return _with_minus(f"{round(value, decimals):,.{max(decimals, 0)}f}")


def _with_minus(text: str) -> str:
    """Return a number with a true minus sign, and no sign where it is rounded to zero."""
    if not text.strip("+-0.,"):
        return text.lstrip("+-")
    return text.replace("-", "−")


def count(value: int | None) -> str:
    """Return a count with groups of thousands."""
    return NOTHING if value is None else f"{value:,}"


def counted(value: int, noun: str) -> str:
    """Return a count and its noun: ``1 fold``, ``23 folds``."""
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def counts(values: Mapping[str, int]) -> str:
    """Return counts by name: ``normal 5,050, AFib 738``."""
    return ", ".join(f"{name} {value:,}" for name, value in values.items())


def listed(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: ``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def duration(seconds: float) -> str:
    """Return a time in the two units that suit it: ``3.2 s``, ``4 min 10 s``, ``2 h 5 min``."""
    if seconds < _MINUTE_S:
        return f"{seconds:.1f} s"
    if seconds < _HOUR_S:
        minutes, rest = divmod(round(seconds), _MINUTE_S)
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(round(seconds / _MINUTE_S), _MINUTE_S)
    return f"{hours} h {minutes} min"


def ordinal(place: int) -> str:
    """Return a place in words of a sentence: ``first``, ``second``, ..., ``11th``."""
    words = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
    return words[place - 1] if place <= len(words) else f"{place}th"


def slug(text: str) -> str:
    """Return a text as part of an id: ASCII letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "x"
