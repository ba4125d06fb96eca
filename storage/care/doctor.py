"""Checks of a store: what is missing, damaged or left over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from storage.care.unused_files import finished_checkpoints, temporary_files, window_files
from storage.digest import file_sha256
from storage.errors import DeapsError
from storage.index.published import read_rows
from storage.index_digest import is_as_published, published_digests
from storage.layout import index_path, index_wal_path
from storage.schema import RecordingRow
from storage.snapshot import (
    IndexDamagedError,
    IndexMissingError,
    IndexVersionError,
    MixedChainsError,
    read_chain,
    reading_index,
)
from storage.windows.file import WindowFileError, signal_offset

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_REMARKS = {"orphan", "temporary", "checkpoint", "no digest", "two chains"}
"""Findings that break no reader."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a store.

    ``kind`` is one of ``no index``, ``index version``, ``index damaged``, ``index table``, ``wal``,
    ``missing``, ``size``, ``sha256``, ``offset``, ``no digest``, ``orphan``, ``temporary``,
    ``checkpoint``, ``two chains``; the last five break no reader. ``path`` is relative to the
    store.
    """

    kind: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"

    @property
    def is_error(self) -> bool:
        """Whether the problem affects readers."""
        return self.kind not in _REMARKS


def check_store(root: Path | str, *, verify: bool = False) -> list[Finding]:
    """Return the problems of a store.

    The index is always compared with its digest, and each of its tables is read.

    Parameters
    ----------
    root
        Folder of the store.
    verify
        Read every window file and compare its digest: this finds changed bytes, which DuckDB
        would not notice.
    """
    store = Path(root)
    findings = list(_leftovers(store))
    index = index_path(store)
    try:
        findings += _check_index(index)
        with reading_index(index, verify=False) as connection:
            rows = read_rows(connection)
            findings += _mixture(connection, index)
    except (IndexMissingError, IndexVersionError) as error:
        return [Finding(_kind(error), index.name, str(error)), *findings]
    for row in rows:
        findings.extend(_check_file(store, row, verify=verify))
    return findings + list(_orphans(store, {row.path for row in rows}))


def _mixture(connection: DuckDBPyConnection, index: Path) -> Iterator[Finding]:
    try:
        read_chain(connection)
    except MixedChainsError as error:
        yield Finding("two chains", index.name, str(error))


def _kind(error: DeapsError) -> str:
    match error:
        case IndexMissingError():
            return "no index"
        case IndexDamagedError():
            return "index damaged"
        case _:
            return "index version"


def _check_index(index: Path) -> list[Finding]:
    """Return what is wrong with the index itself: its bytes, and the tables that they break."""
    findings = []
    with reading_index(index, verify=False) as connection:
        for table in _unreadable_tables(connection):
            message = f"table {table} cannot be read; run deaps preprocess to publish it again"
            findings.append(Finding("index table", index.name, message))
    if not published_digests(index):
        message = "published without a digest; deaps preprocess --verify publishes it with one"
        findings.append(Finding("no digest", index.name, message))
    elif not is_as_published(index):
        message = "changed after it was published: its SHA-256 differs; run deaps preprocess"
        findings.append(Finding("index damaged", index.name, message))
    return findings


def _unreadable_tables(connection: DuckDBPyConnection) -> Iterator[str]:
    import duckdb

    names = connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
    ).fetchall()
    for (name,) in names:
        try:
            connection.execute(f"SELECT bit_xor(hash(t)) FROM {name} t").fetchall()
        except (duckdb.Error, UnicodeDecodeError):
            yield name


def _check_file(store: Path, row: RecordingRow, *, verify: bool) -> Iterator[Finding]:
    if row.path is None:
        return
    path, who = store / row.path, f"{row.dataset}/{row.name}"
    redo = "run deaps preprocess to make it again"
    remove = "remove it, then run deaps preprocess to make it again"
    if not path.is_file():
        yield Finding("missing", row.path, f"window file of {who} is missing; {redo}")
    elif (size := path.stat().st_size) != row.bytes:
        message = f"window file of {who} has {size} bytes, not {row.bytes}; {redo}"
        yield Finding("size", row.path, message)
    elif verify and file_sha256(path) != row.file_sha256:
        message = f"window file of {who} was changed: its SHA-256 differs; {remove}"
        yield Finding("sha256", row.path, message)
    elif (problem := _offset_problem(path, row)) is not None:
        yield Finding("offset", row.path, f"window file of {who}: {problem}; {remove}")


def _offset_problem(path: Path, row: RecordingRow) -> str | None:
    try:
        offset = signal_offset(path)
    except WindowFileError as error:
        return str(error)
    if offset != row.signal_offset:
        return f"signal starts at byte {offset}, not {row.signal_offset}"
    return None


def _leftovers(store: Path) -> Iterator[Finding]:
    wal = index_wal_path(index_path(store))
    if wal.exists():
        message = (
            "the log of a program that opened the index for writing, with which DuckDB refuses to "
            "open the index; nothing of deaps needs it: deaps preprocess removes it"
        )
        yield Finding("wal", wal.name, message)
    for path in temporary_files(store):
        message = "left by a stopped writer, or still written; deaps gc removes it after an hour"
        yield Finding("temporary", path.relative_to(store).as_posix(), message)
    for path in finished_checkpoints(store):
        message = "checkpoint of a finished run, which nothing resumes; deaps gc removes it"
        yield Finding("checkpoint", path.relative_to(store).as_posix(), message)


def _orphans(store: Path, named: set[str | None]) -> Iterator[Finding]:
    for path in window_files(store):
        if path not in named:
            message = "not in the published index; deaps gc removes it unless a run needs it"
            yield Finding("orphan", path, message)
