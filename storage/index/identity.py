"""Which recording is which: copies, numbers that stay, and the digests of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from storage.digest import digest_of
from storage.recording_json import RECORDING_FIELDS, recording_to_dict
from storage.schema import DatasetRow, RecordingRow, SourceRole, Status, SubjectRow

RecordingKey = tuple[str, str]
"""Data set and name of a recording."""

FIRST_ID = 1

_COPY_REASON = "duplicate of "
_NOT_FACTS = {"path", "signal_offset", "bytes", "checked_at_ns"}
_FACTS = tuple(sorted(set(RECORDING_FIELDS) - _NOT_FACTS))
_DATASET_AND_NAME = attrgetter("dataset", "name")


def mark_duplicates(rows: Iterable[RecordingRow]) -> list[RecordingRow]:
    """Return the rows in natural order, copies quarantined as "duplicate of <name>".

    Copies are recordings of one data set with the same signal, in files of whatever kind; where it
    is constant, with the same signal files. The first by natural order of name stays. Marks of an
    earlier call are removed first, and a copy keeps the path of its window file, so it returns
    without work when the first one is gone.
    """
    originals: dict[tuple[str, tuple[str, ...]], str] = {}
    marked = []
    for row in sorted(map(_without_mark, rows), key=natural_order):
        keys = [(row.dataset, contents) for contents in _contents(row)]
        original = next((originals[key] for key in keys if key in originals), row.name)
        for key in keys:
            originals.setdefault(key, original)
        marked.append(row if original == row.name else _with_mark(row, original))
    return marked


def natural_order(row: RecordingRow) -> tuple[str, Sequence[tuple[int, str]], str]:
    """Return the key that sorts rows by data set and name, numbers in names by value."""
    return row.dataset, [_part_order(part) for part in re.split(r"(\d+)", row.name)], row.name


def assign_ids(
    rows: Iterable[RecordingRow], published: Mapping[RecordingKey, int], next_id: int
) -> tuple[dict[RecordingKey, int], int]:
    """Return the id of each recording, and the next free id.

    Recordings in ``published`` keep their ids. New ones get ids from ``next_id`` on, in natural
    order, so that no id is ever used for two recordings.
    """
    ids: dict[RecordingKey, int] = {}
    for row in sorted(rows, key=natural_order):
        key = (row.dataset, row.name)
        if key in ids:
            raise ValueError(f"recording {row.dataset}/{row.name} was given twice")
        if key in published:
            ids[key] = published[key]
        else:
            ids[key] = next_id
            next_id += 1
    return ids, next_id


def snapshot_digest(rows: Sequence[RecordingRow], settings: Mapping[str, Any]) -> str:
    """Return the snapshot id: the digest of recordings, of their files and of the settings.

    Ids, times, paths of sources, runs and results have no influence: a training on a snapshot
    must not change the snapshot's id.
    """
    ordered = sorted(rows, key=_DATASET_AND_NAME)
    return digest_of("snapshot", _FACTS, list(map(attrgetter(*_FACTS), ordered)), dict(settings))


def content_digest(
    snapshot_id: str,
    rows: Sequence[RecordingRow],
    *,
    datasets: Sequence[DatasetRow],
    results: Any,
    root: Path,
    tables: str,
    subjects: Sequence[SubjectRow] = (),
) -> str:
    """Return the digest of everything in the index except times and ids.

    Two publications with equal digests would write the same index. ``results`` are the runs and
    results as JSON holds them, ``tables`` the SQL that creates tables and views: an index of an
    older version gets new columns at the next publication.
    """
    recordings = [recording_to_dict(row) for row in sorted(rows, key=_DATASET_AND_NAME)]
    scanned = sorted((asdict(row) | {"scanned_at_ns": 0} for row in datasets), key=repr)
    cohort = [asdict(row) for row in subjects]
    return digest_of(
        "content", snapshot_id, recordings, scanned, results, str(root), cohort, tables
    )


def _part_order(part: str) -> tuple[int, str]:
    if not part.isdecimal():
        return -1, part
    digits = part.lstrip("0")  # compared as text: int() refuses more than 4,300 digits
    return len(digits), digits


def _contents(row: RecordingRow) -> Iterator[tuple[str, ...]]:
    """Yield what tells that two recordings are one: digests of signal files, and of the signal."""
    if row.status is not Status.OK:
        return
    if row.signal_digest:  # one file may hold the leads of several recordings
        yield ("signal", row.signal_digest)
        return
    files = tuple(source.sha256 for source in row.sources if source.role == SourceRole.SIGNAL)
    if files and all(files):
        yield files


def _with_mark(row: RecordingRow, original: str) -> RecordingRow:
    return replace(row, status=Status.QUARANTINED, reason=_COPY_REASON + original)


def _without_mark(row: RecordingRow) -> RecordingRow:
    is_marked = row.status is Status.QUARANTINED and (row.reason or "").startswith(_COPY_REASON)
    return replace(row, status=Status.OK, reason=None) if is_marked else row
