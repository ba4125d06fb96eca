"""The recordings of the published index, for the scan that looks for changes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from storage.cycle_collector import cycle_collector_paused
from storage.index.identity import RecordingKey
from storage.index.subject_rows import read_subjects
from storage.recording_json import SOURCE_FIELDS, recording_from_dict
from storage.schema import DatasetRow, RecordingRow, Status, SubjectRow
from storage.snapshot import (
    IndexDamagedError,
    IndexMissingError,
    Snapshot,
    read_snapshot,
    reading_index,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


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
