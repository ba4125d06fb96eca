"""Checks of a store: what is missing, damaged or left over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from storage.care.unused_files import finished_checkpoints, temporary_files, window_files
from storage.digest import file_sha256
from storage.index.published import read_rows
from storage.layout import index_path
from storage.schema import RecordingRow
from storage.snapshot import IndexMissingError, IndexVersionError, reading_index
from storage.windows.file import WindowFileError, signal_offset


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem of a store.

    ``kind`` is one of ``no index``, ``index version``, ``wal``, ``missing``, ``size``,
    ``sha256``, ``offset``, ``orphan``, ``temporary``, ``checkpoint``; the last three only waste
    space. ``path`` is relative to the store.
    """

    kind: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"

    @property
    def is_error(self) -> bool:
        """Whether the problem affects readers."""
        return self.kind not in {"orphan", "temporary", "checkpoint"}


def check_store(root: Path | str, *, verify: bool = False) -> list[Finding]:
    """Return the problems of a store.

    Parameters
    ----------
    root
        Folder of the store.
    verify
        Read every window file and compare its digest: this finds changed bytes, which neither
        DuckDB nor `WindowStore` would notice.
    """
    store = Path(root)
    findings = list(_leftovers(store))
    try:
        with reading_index(index_path(store)) as connection:
            rows = read_rows(connection)
    except (IndexMissingError, IndexVersionError) as error:
        kind = "no index" if isinstance(error, IndexMissingError) else "index version"
        return [Finding(kind, index_path(store).name, str(error)), *findings]
    for row in rows:
        findings.extend(_check_file(store, row, verify=verify))
    return findings + list(_orphans(store, {row.path for row in rows}))


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
    wal = index_path(store).with_name(index_path(store).name + ".wal")
    if wal.exists():
        message = "the index was opened for writing; run deaps preprocess to publish it again"
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
