"""What the published index holds, and which identity each recording keeps in the next one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from storage.files import digest_of
from storage.index.rows import read_subjects
from storage.packages import cycle_collector_paused
from storage.schema import DatasetRow, RecordingRow, SourceRole, Status, SubjectRow
from storage.snapshot import (
    IndexDamagedError,
    IndexMissingError,
    Snapshot,
    read_snapshot,
    reading_index,
)
from storage.windows import RECORDING_FIELDS, SOURCE_FIELDS, recording_from_dict, recording_to_dict

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
    """Yield digests that copies of a recording share: of signal files, and of the signal."""
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


class SourceStamp(NamedTuple):
    """A source file when it was read: `storage.schema.SourceFile` as a tuple, quicker to make."""

    path: str
    role: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    sha256: str


class PublishedSources(NamedTuple):
    """What decides whether a recording must be read again."""

    recording_id: int
    status: Status
    reason: str | None
    digest: str | None
    settings_digest: str | None
    path: str | None
    bytes: int | None
    checked_at_ns: int
    n_windows: int
    duration_s: float | None
    truncated: bool
    channel: str | None
    versions: str | None
    scoring_version: int | None
    sources: tuple[SourceStamp, ...]


@dataclass(frozen=True, slots=True)
class PublishedState:
    """The published recordings: sources are loaded at once, whole rows by `rows`."""

    root: Path
    snapshot: Snapshot
    sources: dict[RecordingKey, PublishedSources]
    datasets: dict[str, DatasetRow]
    chains: dict[str, dict[str, Any]]
    """Settings that windows were made with, by their digest."""

    def of_dataset(self, dataset: str) -> dict[str, PublishedSources]:
        """Return the recordings of one data set by name."""
        return {name: entry for (of, name), entry in self.sources.items() if of == dataset}

    def rows(self) -> list[RecordingRow]:
        """Return all recordings by id, with their sources."""
        with reading_index(self.root) as connection, cycle_collector_paused():
            return read_rows(connection)

    def subjects(self) -> list[SubjectRow]:
        """Return what the cohorts' tables say of subjects and visits."""
        with reading_index(self.root) as connection:
            return read_subjects(connection)


def load_published(root: Path | str) -> PublishedState | None:
    """Return the state that the published index describes, None without a readable index.

    Raises
    ------
    storage.snapshot.IndexVersionError
        If it has another schema version: whoever publishes would make every window again.
    """
    try:
        with reading_index(root) as connection, cycle_collector_paused():
            return PublishedState(
                Path(root),
                read_snapshot(connection),
                _read_sources(connection),
                {row.dataset: row for row in _read_datasets(connection)},
                _read_chains(connection),
            )
    except (IndexMissingError, IndexDamagedError):
        return None


def published_sources(root: Path | str) -> dict[RecordingKey, PublishedSources]:
    """Return sources and digests of all published recordings."""
    state = load_published(root)
    return state.sources if state else {}


def published_ids(root: Path | str) -> tuple[Snapshot | None, dict[RecordingKey, int]]:
    """Return the published snapshot and its recordings' ids, None and no ids without one."""
    names = "SELECT dataset, name, recording_id FROM recordings"
    try:
        with reading_index(root) as connection:
            rows = connection.execute(names).fetchall()
            snapshot = read_snapshot(connection)
    except (IndexMissingError, IndexDamagedError):
        return None, {}
    return snapshot, {(dataset, name): number for dataset, name, number in rows}


def read_rows(connection: DuckDBPyConnection) -> list[RecordingRow]:
    """Return all recordings of an open index by id, with their sources.

    Columns that an older index does not have keep their defaults.
    """
    cursor = connection.execute("FROM recordings ORDER BY recording_id")
    names = [column[0] for column in cursor.description or ()][1:]
    recordings = cursor.fetchall()
    sources = _stamps_by_recording(connection)
    rows = []
    for number, *values in recordings:
        listed = [dict(zip(SOURCE_FIELDS, stamp, strict=True)) for stamp in sources.get(number, ())]
        fields: dict[str, Any] = dict(zip(names, values, strict=True))
        rows.append(recording_from_dict(fields | {"sources": listed}))
    return rows


def _read_sources(connection: DuckDBPyConnection) -> dict[RecordingKey, PublishedSources]:
    stamps = _stamps_by_recording(connection)
    recordings = connection.execute(
        "SELECT dataset, name, recording_id, status, reason, digest, settings_digest, path, bytes, "
        "checked_at_ns, n_windows, duration_s, truncated, channel, "
        f"{_or_null(connection, 'versions')}, {_or_null(connection, 'scoring_version')} "
        "FROM recordings"
    ).fetchall()
    statuses = {str(status): status for status in Status}
    return {
        (dataset, name): PublishedSources._make(
            (number, statuses[status], *rest, tuple(stamps.get(number, ())))
        )
        for dataset, name, number, status, *rest in recordings
    }


def _or_null(connection: DuckDBPyConnection, column: str) -> str:
    """Return a column of ``recordings``, or NULL where an older index does not have it."""
    names = connection.execute("SELECT * FROM recordings LIMIT 0").description or ()
    return column if column in {name for name, *_ in names} else "NULL"


def _read_chains(connection: DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    import duckdb

    try:
        rows = connection.execute("SELECT settings_digest, settings FROM chains").fetchall()
    except duckdb.CatalogException:  # an index from before chains were kept
        return {}
    return {digest: json.loads(settings) for digest, settings in rows}


def _read_datasets(connection: DuckDBPyConnection) -> list[DatasetRow]:
    fields = ", ".join(DatasetRow.__slots__)
    rows = connection.execute(f"SELECT {fields} FROM datasets").fetchall()
    named = (dict(zip(DatasetRow.__slots__, row, strict=True)) for row in rows)
    return [DatasetRow(**row | {"warnings": tuple(row["warnings"])}) for row in named]


def _stamps_by_recording(connection: DuckDBPyConnection) -> dict[int, list[SourceStamp]]:
    rows = connection.execute("FROM sources ORDER BY rowid").fetchall()  # in the order given
    stamps: dict[int, list[SourceStamp]] = {}
    for number, *values in rows:
        stamps.setdefault(number, []).append(SourceStamp._make(values))
    return stamps
