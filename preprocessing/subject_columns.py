"""Columns of a cohort's tables that a setting names: which there are, and their values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from preprocessing.cohort_csv import ANY_ENCODING, column_names, read_table
from storage.errors import DeapsError

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
_IDENTIFYING = re.compile(
    r"pptid|name|birth|dob|date|address|street|zip|postal|phone|email|mail|ssn|mrn|passport|"
    r"comment|remark|note|text"
)
"""Parts of names of columns that could tell who somebody is, or that hold free text."""

_CODE = re.compile(r"[\w.+<>=-]{1,24}")
_TAKEN = ("dataset", "subject", "visit")


SubjectVisit = tuple[str, int]
SubjectValues = dict[SubjectVisit, dict[str, str]]
"""Text by column, of each subject and visit."""


class SubjectColumnError(DeapsError):
    """A column that may not, or cannot, become a column of the table ``subjects``."""


def check_column_name(name: str) -> None:
    """Raise SubjectColumnError if a column could identify people or cannot be one of SQL's."""
    if not _PLAIN_NAME.fullmatch(name):
        raise SubjectColumnError(
            f"cohort.columns has {name!r}; expected a variable's name in lower case: letters, "
            "digits and _"
        )
    if name in _TAKEN:
        raise SubjectColumnError(
            f"cohort.columns has {name!r}, which the table subjects has already; leave it out"
        )
    if match := _IDENTIFYING.search(name):
        raise SubjectColumnError(
            f"cohort.columns has {name!r}: a column with {match.group()!r} in its name may "
            "identify people or hold free text, and is never copied; leave it out"
        )


def read_values(
    path: Path,
    columns: Collection[str],
    keys: tuple[str, ...],
    *,
    encoding: str = ANY_ENCODING,
    synonyms: Mapping[str, str] | None = None,
    last_resorts: Collection[str] = (),
) -> tuple[list[dict[str, str]], list[str]]:
    """Return those of the ``columns`` that a table has, with its ``keys``, and warnings.

    Text that is no short code is left out and counted: it may name people.
    """
    present = [name for name in column_names(path, encoding=encoding) if name in columns]
    if not present:
        return [], []
    table = read_table(
        path,
        (*keys, *present),
        encoding=encoding,
        synonyms=synonyms,
        last_resorts=last_resorts,
    )
    rows, warnings = table.rows, table.warnings
    left_out = Counter[str]()
    for row in rows:
        for name in present:
            if row.get(name) and not _CODE.fullmatch(row[name]):
                row[name] = ""
                left_out[name] += 1
    warnings += [
        f"{path.name}: {n} values of {name} are free text: left out" for name, n in left_out.items()
    ]
    return rows, warnings


def merge_values(rows: Iterable[tuple[SubjectVisit, dict[str, str]]]) -> SubjectValues:
    """Return the values by subject and visit; of several, the first that is not empty."""
    merged: SubjectValues = {}
    for key, values in rows:
        known = merged.setdefault(key, {})
        for name, value in values.items():
            if value and not known.get(name):
                known[name] = value
    return merged
