"""Sexes as people write them: M and F, 1 and 2, or words of a few languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from storage.schema import Sex

_WORDS = {
    Sex.MALE: ("m", "male", "man", "men", "boy", "1", "männlich", "mann", "homme", "masculin",
               "hombre", "masculino", "varón", "mand", "uomo", "maschio"),
    Sex.FEMALE: ("f", "w", "female", "woman", "women", "girl", "2", "weiblich", "frau", "femme",
                 "féminin", "mujer", "femenino", "kvinde", "donna", "femmina"),
}  # fmt: skip
_BY_WORD = {word: sex for sex, words in _WORDS.items() for word in words}
UNKNOWN = frozenset({"", "x", "?", "-", "na", "n/a", "nan", "none", "null", "unknown", "unk", "9"})
"""Ways to say that something is not known, which need no warning."""

_NUMBERS = {"0", "1", "2"}


@dataclass(frozen=True, slots=True)
class Sexes:
    """The sex in each row, what was understood, and the places of values that were not."""

    values: list[Sex | None]
    understood: str | None
    unread: list[int]
    problem: str | None = None


def read_sexes(texts: Sequence[str]) -> Sexes:
    """Return the sexes of a whole column.

    Codes are judged together: 1 and 2 mean male and female (ISO 5218), but with a 0 among them
    nobody can know which is which, nor what M means beside H (hombre, mujer).
    """
    codes = [_code(text) for text in texts]
    ambiguous, problem = _ambiguous(set(codes))
    values = [None if code in ambiguous else _BY_WORD.get(code) for code in codes]
    unread = [
        place
        for place, (code, value) in enumerate(zip(codes, values, strict=True))
        if value is None and code not in UNKNOWN
    ]
    return Sexes(values, _understood(codes, values), unread, problem)


def is_sex(text: str) -> bool:
    """Return whether a text is a way to write a sex, or that it is not known."""
    code = _code(text)
    return code in _BY_WORD or code in UNKNOWN or code in {"0", "h"}


def _code(text: str) -> str:
    code = text.strip().lower().rstrip(".")
    return code[:-2] if code.endswith(".0") else (code.lstrip("0") or code[-1:])


def _ambiguous(codes: set[str]) -> tuple[set[str], str | None]:
    if "0" in codes:
        return _NUMBERS, "sex has the code 0, so what its numbers mean is unclear: write M and F"
    if {"h", "m"} <= codes and not codes & {"f", "w"}:
        return {"h", "m"}, "sex has H and M, which differ by language: write male and female"
    return set(), None


def _understood(codes: Sequence[str], values: Sequence[Sex | None]) -> str | None:
    """Return the words that stood for each sex, and how often: all of them are ours."""
    parts = []
    for sex in Sex:
        words = Counter(code for code, value in zip(codes, values, strict=True) if value is sex)
        if words:
            shown = [word.upper() if len(word) == 1 else word for word in sorted(words)]
            written = "" if shown == [sex] else f"{', '.join(shown)} = "
            parts.append(f"{written}{sex} ({words.total():,})")
    return f"sex: {'; '.join(parts)}" if parts else None
