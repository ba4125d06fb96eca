"""Visits as people write them: numbers, names such as ``baseline``, or dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date

from preprocessing.cohort_csv import parse_visit

_ONE_WAY = (
    re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})([T ].*)?"),
    re.compile(r"(?P<y>(19|20)\d{2})(?P<m>\d{2})(?P<d>\d{2})"),
    re.compile(r"(?P<d>\d{1,2})[-/. ]+(?P<name>[^\W\d_]{3,9})\.?[-/. ,]+(?P<y>\d{2}|\d{4})"),
    re.compile(r"(?P<name>[^\W\d_]{3,9})\.? (?P<d>\d{1,2}), ?(?P<y>\d{4})"),
)
"""Dates that can be read in one way alone: the year first, or the month as a word."""

_IN_ORDER = {
    "day/month": re.compile(r"(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.](?P<y>\d{4}|\d{2})([T ].*)?"),
    "month/day": re.compile(r"(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})[-/.](?P<y>\d{4}|\d{2})([T ].*)?"),
    "year/month": re.compile(r"(?P<y>\d{2})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"),
}
_MONTHS = {
    "jan": 1, "ene": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "mrz": 3, "apr": 4,
    "avr": 4, "abr": 4, "may": 5, "mai": 5, "jun": 6, "juin": 6, "jul": 7, "juil": 7, "aug": 8,
    "aoû": 8, "ago": 8, "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12,
    "déc": 12, "dic": 12,
}  # fmt: skip
"""Months by the beginning of their names, in English, German, French and Spanish."""

_UNKNOWN = frozenset({"", "?", "-", "na", "n/a", "nan", "none", "null", "unknown", "unk", "tbd"})
_WRITE_DATES = "write them as 2024-03-01, or number the visits"
_NUMBERED = re.compile(r"(?P<stem>[^\W\d][\w .-]*?)[ _.-]*(?P<number>\d{1,4})")
_NUMBER = re.compile(r"[-+]?[\d.]+|\W*")
_WORDS = frozenset({
    "a", "after", "arm", "b", "base", "baseline", "before", "bl", "c", "control", "cpap", "d",
    "day", "diagnostic", "discharge", "enrolment", "enrollment", "entry", "exam", "examination",
    "exit", "final", "first", "follow", "followup", "fu", "initial", "last", "m", "mo", "month",
    "months", "n", "night", "p", "phase", "placebo", "post", "pre", "repeat", "retest", "s",
    "screening", "second", "ses", "session", "split", "start", "t", "test", "third", "timepoint",
    "titration", "treatment", "up", "v", "visit", "w", "wave", "week", "weeks", "wk", "y", "year",
    "years", "yr", "end",
})  # fmt: skip
"""Words of visits' names that are always kept; any other may be a person's name."""

_LONGEST_NAME = 40


@dataclass(slots=True)
class Visits:
    """The visit in each row, the names that are kept, and what was understood.

    ``order`` says how dates were read. ``problem`` says why dates cannot be put in order.
    """

    numbers: list[int | None]
    names: list[str | None]
    understood: str | None = None
    unread: list[int] = field(default_factory=list)
    order: str | None = None
    problem: str | None = None


def read_visits(texts: Sequence[str], subjects: Sequence[str]) -> Visits:
    """Return the visits of a whole column; an empty text has none.

    Dates are put in order for each subject, and are not kept. Names that end in numbers of one
    series (V1, V2) have those; others count in order of appearance. A name is kept if its words
    are common for visits, or if two subjects have it: a person's own name has neither.
    """
    stripped = [text.strip() for text in texts]
    filled = [text for text in stripped if text.lower() not in _UNKNOWN]
    if n_dates := sum(map(_is_date, filled)):
        if n_dates < len(filled):  # any number for the others could swap visits
            none = Visits([None] * len(texts), [None] * len(texts))
            none.problem = f"some visits are dates, and {len(filled) - n_dates} not; {_WRITE_DATES}"
            return none
        return _by_date([t if t.lower() not in _UNKNOWN else "" for t in stripped], subjects)
    numbers = [parse_visit(text) for text in stripped]
    named = dict.fromkeys(
        text
        for text, number in zip(stripped, numbers, strict=True)
        if number is None and _is_name(text)
    )
    numbered = _number_names(list(named), {number for number in numbers if number})
    kept = {name for name in named if _is_kept(name, stripped, subjects)}
    return Visits(
        [number or numbered.get(text) for number, text in zip(numbers, stripped, strict=True)],
        [text if text in kept else None for text in stripped],
        _understood(numbered, kept),
        [
            place
            for place, (text, number) in enumerate(zip(stripped, numbers, strict=True))
            if text and number is None and text not in numbered
        ],
    )


def _by_date(texts: Sequence[str], subjects: Sequence[str]) -> Visits:
    """Return visits in order of their dates; whether days or months come first, the column says.

    Where both orders are possible and give different visits, nobody can know.
    """
    numbered = {}
    for order in _IN_ORDER:
        dates = [_date(text, order) for text in texts]
        if all(day is not None for day, text in zip(dates, texts, strict=True) if text):
            numbered[order] = _in_order(dates, subjects)
    none = Visits([None] * len(texts), [None] * len(texts))
    if not numbered:
        none.problem = f"visits are dates in two orders, day/month and month/day; {_WRITE_DATES}"
        return none
    orders, different = list(numbered), list(numbered.values())
    if any(other != different[0] for other in different):
        none.problem = f"visits are dates that may be {' or '.join(orders)}; {_WRITE_DATES}"
        return none
    is_plain = all(any(p.fullmatch(text) for p in _ONE_WAY) for text in texts if text)
    has_words = any(character.isalpha() for text in texts for character in text.partition("T")[0])
    return Visits(
        different[0],
        [None] * len(texts),
        "visits are dates: numbered in order for each subject; no date is kept",
        order=(
            ("months as words" if has_words else "year/month/day")
            if is_plain
            else orders[0]
            if len(orders) == 1
            else "either order"
        ),
    )


def _in_order(dates: Sequence[date | None], subjects: Sequence[str]) -> list[int | None]:
    days: dict[str, set[date]] = {}
    for subject, day in zip(subjects, dates, strict=True):
        if day is not None:
            days.setdefault(subject, set()).add(day)
    places = {subject: {d: n for n, d in enumerate(sorted(of), 1)} for subject, of in days.items()}
    return [
        None if day is None else places[subject][day]
        for subject, day in zip(subjects, dates, strict=True)
    ]


def _is_date(text: str) -> bool:
    return any(_date(text, order) for order in _IN_ORDER)


def _date(text: str, order: str) -> date | None:
    """Return the date that a text is if days and months stand in ``order``."""
    for pattern in (*_ONE_WAY, _IN_ORDER[order]):
        if (match := pattern.fullmatch(text)) is None:
            continue
        found = match.groupdict()
        word = found.get("name", "").lower()
        month = _MONTHS.get(word[:4]) or _MONTHS.get(word[:3], 0) if word else int(found["m"])
        year = int(found["y"])
        if year < 100:
            year += 2000 if year < 50 else 1900
        with suppress(ValueError):  # a month above 12
            return date(year, month, int(found["d"]))
    return None


def _is_name(text: str) -> bool:
    is_number = _NUMBER.fullmatch(text) is not None
    return bool(text) and not is_number and not text.isnumeric() and len(text) <= _LONGEST_NAME


def _number_names(names: Sequence[str], taken: set[int]) -> dict[str, int]:
    matches = [_NUMBERED.fullmatch(name) for name in names]
    stems = {match["stem"].lower().rstrip(" _.-") for match in matches if match}
    numbers = [int(match["number"]) for match in matches if match]
    is_series = len(stems) == 1 and len(numbers) == len(names) == len(set(numbers))
    if names and is_series and not taken:
        first = 0 if min(numbers) > 0 else 1
        return {name: first + number for name, number in zip(names, numbers, strict=True)}
    free = (number for number in range(1, 10_001) if number not in taken)
    return dict(zip(names, free, strict=False))


def _is_kept(name: str, texts: Sequence[str], subjects: Sequence[str]) -> bool:
    if _is_date(name):
        return False
    words = re.findall(r"[^\W\d_]+", name.lower())
    if all(word in _WORDS for word in words):
        return True
    of = {subject for subject, text in zip(subjects, texts, strict=True) if text == name}
    return len(of) >= 2


def _understood(numbered: dict[str, int], kept: set[str]) -> str | None:
    if not numbered:
        return None
    shown = [f"{name} = {number}" for name, number in numbered.items() if name in kept]
    hidden = len(numbered) - len(shown)
    others = [f"unusual names, numbered and not kept: {hidden}"] if hidden else []
    return f"visits: {', '.join([*shown, *others])}"
