"""Removal of unused files: of windows that no index names, of finished runs, temporary, logs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from storage.layout import (
    CHECKPOINTS_FOLDER,
    LOGS_FOLDER,
    RUN_NAME,
    RUNS_FOLDER,
    WINDOWS_FOLDER,
    index_path,
    is_temporary,
)
from storage.locking.locks import no_writer, publisher_lock
from storage.snapshot import open_index, reading_index

_STILL_WRITING_S = 3600


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
    storage.locking.locks.StoreBusyError
        If another process writes window files, which no index names yet.
    """
    store = Path(root)
    open_index(index_path(store)).close()  # a folder that is no store gets no lock file
    with no_writer(store), publisher_lock(store):
        unused = [*_orphans(store), *filter(_is_old, temporary_files(store))]
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


def _orphans(store: Path) -> list[Path]:
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
