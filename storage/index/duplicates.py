"""Recordings that are copies of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from storage.schema import RecordingRow, Status

_REASON = "duplicate of "


def mark_duplicates(rows: Iterable[RecordingRow]) -> list[RecordingRow]:
    """Return the rows in natural order, copies quarantined as "duplicate of <name>".

    Copies are recordings of one data set whose signal files have equal digests; the first by
    natural order of name stays. A copy keeps the path of its window file: rows that come
    marked by an earlier call are judged anew, so a copy revives without work once the first
    one is gone.
    """
    kept: dict[tuple[str, tuple[str, ...]], str] = {}
    marked = []
    for row in sorted(map(_unmarked, rows), key=natural_order):
        key = (row.dataset, _signal_digests(row))
        original = kept.setdefault(key, row.name) if _can_be_compared(row) else row.name
        marked.append(row if original == row.name else _marked(row, original))
    return marked


def natural_order(row: RecordingRow) -> tuple[str, Sequence[tuple[int, str]], str]:
    """Return the key that sorts rows by data set and name, numbers in names by value."""
    return row.dataset, [_part_order(part) for part in re.split(r"(\d+)", row.name)], row.name


def _part_order(part: str) -> tuple[int, str]:
    if not part.isdecimal():
        return -1, part
    digits = part.lstrip("0")  # compared as text: int() refuses more than 4,300 digits
    return len(digits), digits


def is_marked_duplicate(row: RecordingRow) -> bool:
    """Tell whether a row is quarantined as the copy of another."""
    return row.status is Status.QUARANTINED and (row.reason or "").startswith(_REASON)


def _signal_digests(row: RecordingRow) -> tuple[str, ...]:
    return tuple(source.sha256 for source in row.sources if source.role == "signal")


def _can_be_compared(row: RecordingRow) -> bool:
    digests = _signal_digests(row)
    return row.status is Status.OK and bool(digests) and all(digests)


def _marked(row: RecordingRow, original: str) -> RecordingRow:
    return replace(row, status=Status.QUARANTINED, reason=_REASON + original)


def _unmarked(row: RecordingRow) -> RecordingRow:
    if is_marked_duplicate(row):
        return replace(row, status=Status.OK, reason=None)
    return row
