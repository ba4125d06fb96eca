"""A store's health: what doctor checks, what gc removes, what takes space, who holds locks."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from storage.errors import DeapsError
from storage.files import (
    CHECKPOINTS_FOLDER,
    INDEX_NAME,
    LOCK_NAME,
    LOGS_FOLDER,
    RUN_NAME,
    RUNS_FOLDER,
    WINDOWS_FOLDER,
    WRITERS_LOCK_NAME,
    file_sha256,
    index_path,
    index_wal_path,
    is_as_published,
    is_temporary,
    published_digests,
)
from storage.index.published import read_rows
from storage.locks import command_words, no_writer, processes_with_open_file, publisher_lock
from storage.schema import RecordingRow
from storage.snapshot import (
    IndexDamagedError,
    IndexMissingError,
    IndexVersionError,
    MixedChainsError,
    open_index,
    read_chain,
    reading_index,
)
from storage.windows import WindowFileError, signal_offset

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_REMARKS = {"orphan", "temporary", "checkpoint", "no digest", "two chains"}
"""Findings that break no reader."""

_STILL_WRITING_S = 3600

INDEX_PART = "index"
OTHER_PART = "other"

_PURPOSES = {
    WRITERS_LOCK_NAME: "bringing the store up to date",
    LOCK_NAME: "publishing the index",
}
_KERNEL_LIST = Path("/proc/locks")
_WAITING = "->"
_COMMAND_LENGTH = 100


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


def remove_unused_files(
    root: Path | str, *, dry_run: bool, keep_logs_days: int | None = None
) -> list[Path]:
    """Remove unused files and return them; with ``dry_run`` only return them.

    Unused are window files that neither the published index nor a run's index names, the
    checkpoints of finished runs, temporary files without a change for an hour, and logs of days
    more than ``keep_logs_days`` ago (default: logs stay).

    Raises
    ------
    storage.snapshot.IndexMissingError, storage.snapshot.IndexVersionError
        If no index is published, or a run's index cannot be read; nothing is removed then.
    storage.locks.DeapsError
        If another process writes window files, which no index names yet.
    """
    store = Path(root)
    open_index(index_path(store)).close()  # a folder that is no store gets no lock file
    with no_writer(store), publisher_lock(store):
        unused = [*_unused_files_orphans(store), *filter(_is_old, temporary_files(store))]
        unused += [*finished_checkpoints(store), *old_logs(store, keep_logs_days)]
        for path in [] if dry_run else unused:
            path.unlink(missing_ok=True)
            _remove_empty_folders(path.parent, store)
    return unused


def window_files(store: Path) -> Iterator[str]:
    """Yield the finished files under ``windows/``, relative to the store, in order."""
    for path in sorted((store / WINDOWS_FOLDER).rglob("*")):
        if path.is_file() and not is_temporary(path):
            yield path.relative_to(store).as_posix()


def temporary_files(store: Path) -> Iterator[Path]:
    """Yield the unfinished files of the store, in order."""
    for path in sorted([*store.glob(".*"), *(store / WINDOWS_FOLDER).rglob(".*")]):
        if path.is_file() and is_temporary(path):
            yield path


def finished_checkpoints(store: Path) -> Iterator[Path]:
    """Yield the files of finished runs' checkpoints, in order: nothing resumes such a run.

    A training removes them at its end; one that was killed in that moment, or ended with an
    earlier version, has left them.
    """
    for run in sorted((store / RUNS_FOLDER).glob(f"*/{RUN_NAME}")):
        checkpoints = sorted((run.parent / CHECKPOINTS_FOLDER).rglob("*"))
        yield from (path for path in checkpoints if path.is_file())


def old_logs(store: Path, keep_days: int | None) -> list[Path]:
    """Return the logs of days more than ``keep_days`` ago, in order; each is named by its day."""
    if keep_days is None:
        return []
    first_kept = datetime.now(UTC).date() - timedelta(days=keep_days)
    logs = sorted((store / LOGS_FOLDER).glob("*.jsonl"))
    return [path for path in logs if (day := _day(path)) is not None and day < first_kept]


def _day(log: Path) -> date | None:
    try:
        return date.fromisoformat(log.stem)
    except ValueError:
        return None


def _unused_files_orphans(store: Path) -> list[Path]:
    named = _named_files(store)
    return [store / path for path in window_files(store) if path not in named]


def _named_files(store: Path) -> set[str]:
    named: set[str] = set()
    for index in [index_path(store), *sorted(store.glob(f"{RUNS_FOLDER}/*/index.duckdb"))]:
        with reading_index(index) as connection:
            rows = connection.execute("SELECT path FROM recordings WHERE path IS NOT NULL")
            named |= {path for (path,) in rows.fetchall()}
    return named


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > _STILL_WRITING_S
    except FileNotFoundError:
        return False


def _remove_empty_folders(folder: Path, store: Path) -> None:
    with contextlib.suppress(OSError):  # not empty
        while folder not in (store, store / WINDOWS_FOLDER):
            folder.rmdir()
            folder = folder.parent


def disk_use(root: Path) -> dict[str, int]:
    """Return the bytes of each part: the index, every folder, and all other files.

    Runs link the index; it counts once, as the index.
    """
    seen: set[tuple[int, int]] = set()
    parts: dict[str, int] = {}
    for name, path in _parts(root):
        parts[name] = parts.get(name, 0) + sum(_new_sizes(path, seen))
    return parts


def _parts(root: Path) -> list[tuple[str, Path]]:
    """Return the entries of the store, the index first, so that links to it do not count."""
    parts = [(_part(path), path) for path in sorted(root.iterdir())]
    return sorted(parts, key=lambda part: (part[0] != INDEX_PART, part[0] == OTHER_PART))


def _part(path: Path) -> str:
    if path.name == INDEX_NAME:
        return INDEX_PART
    return path.name if path.is_dir() else OTHER_PART


def _new_sizes(path: Path, seen: set[tuple[int, int]]) -> Iterator[int]:
    for stat in _stats(path):
        if stat.st_nlink > 1:
            if (key := (stat.st_dev, stat.st_ino)) in seen:
                continue
            seen.add(key)
        yield stat.st_size


def _stats(path: Path) -> Iterator[os.stat_result]:
    """Yield the stat of a file, or of every file below a folder, without following links."""
    if not path.is_dir():
        with suppress(OSError):  # it was removed meanwhile
            yield path.lstat()
        return
    folders = [str(path)]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False)


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A process that has a lock of the store, or waits for it.

    ``pid`` is None if the process cannot be named: it runs in another container or on another
    machine, or several processes on a system without a list of locks come into question.
    """

    purpose: str
    pid: int | None
    command: str
    waiting: bool = False


def lock_holders(root: Path) -> list[LockHolder]:
    """Return who works on a store, holders before those who wait."""
    holders: list[LockHolder] = []
    for name, purpose in _PURPOSES.items():
        path = root / name
        if path.exists():
            holders += list(_listed_holders(path, purpose)) or _unlisted_holder(path, purpose)
    return sorted(holders, key=lambda holder: holder.waiting)


def _listed_holders(path: Path, purpose: str) -> Iterator[LockHolder]:
    """Yield the processes that the kernel lists, by the file's inode.

    The device is not compared: on btrfs and overlays the list has another one than ``stat``.
    """
    inode = str(path.stat().st_ino)
    for line in _kernel_lines():
        waiting = _WAITING in line
        words = [word for word in line.split() if word != _WAITING]
        # number, FLOCK, ADVISORY, WRITE, pid, device:device:inode, start, end
        if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
            yield _holder(purpose, int(words[4]), waiting=waiting)


def _kernel_lines() -> list[str]:
    try:
        return _KERNEL_LIST.read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux
        return []


def _unlisted_holder(path: Path, purpose: str) -> list[LockHolder]:
    """Return the holder of a lock that the kernel does not list.

    Without a list, as on macOS, it is the process that has the file open, if there is only one.
    """
    if not _is_locked(path):
        return []
    pids = processes_with_open_file(path)
    return [_holder(purpose, pids[0]) if len(pids) == 1 else LockHolder(purpose, None, "")]


def _is_locked(path: Path) -> bool:
    """Ask for a shared lock and release it at once: a writer that asks meanwhile waits briefly."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no permission to ask
        return False
    return False


def _holder(purpose: str, pid: int, *, waiting: bool = False) -> LockHolder:
    if pid <= 0:  # how the kernel lists a process of another machine
        return LockHolder(purpose, None, "", waiting)
    return LockHolder(purpose, pid, _short_command(command_words(pid)), waiting)


def _short_command(words: list[str]) -> str:
    """Return a command line without the interpreter and without the program's folder."""
    if len(words) > 1 and Path(words[0]).name.startswith("python"):
        words = words[1:]
    if not words:
        return ""
    return " ".join([Path(words[0]).name, *words[1:]]).strip()[:_COMMAND_LENGTH]
