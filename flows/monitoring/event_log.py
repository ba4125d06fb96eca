"""The log of a store: one JSON object a line, one file a day, written by any process.

No line names a person. Recordings go by data set and name, never by a field of their headers; an
error goes by its kind and place, because its text may quote what was read.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flows.runtime.console import notify
from storage.files import LOGS_FOLDER
from storage.schema import Status

if TYPE_CHECKING:
    from deaps.training.run_folder import Run
    from flows.ingest.recording import ChunkResult
    from flows.ingest.scan import Scan
    from storage.snapshot import Snapshot


Level = Literal["info", "warning", "error"]

STARTED, FINISHED, FAILED = "stage started", "stage finished", "stage failed"

_complained: set[Path] = set()
"""Folders that this process could not write to, and has warned of it."""


class EventLog:
    """The log of the store in ``root``; nothing that goes wrong with it stops the caller."""

    def __init__(self, root: Path) -> None:
        self.folder = root / LOGS_FOLDER

    def write(
        self,
        event: str,
        *,
        level: Level = "info",
        stage: str | None = None,
        dataset: str | None = None,
        recording: str | None = None,
        **facts: object,
    ) -> None:
        """Add one line: when, what, where, and plain facts; facts that are None are left out."""
        now = datetime.now(UTC)
        fields: dict[str, object] = {
            "time": now.isoformat(timespec="milliseconds"),
            "level": level,
            "event": event,
            "run": _flow_run_id(),
            "stage": stage,
            "dataset": dataset,
            "recording": recording,
        }
        fields |= {name: value for name, value in facts.items() if value is not None}
        try:
            _append(self.folder / f"{now:%Y-%m-%d}.jsonl", _line(fields))
        except OSError as error:
            _complain_once(self.folder, error)

    @contextmanager
    def stage(self, name: str, **facts: Any) -> Iterator[None]:
        """Write that a stage starts, and that it finished or failed, after how many seconds."""
        started = time.perf_counter()
        self.write(STARTED, stage=name, **facts)
        try:
            yield
        except BaseException as error:
            fields = facts | {"seconds": _since(started), "error": describe_error(error)}
            self.write(FAILED, level="error", stage=name, **fields)
            raise
        self.write(FINISHED, stage=name, **facts | {"seconds": _since(started)})


def describe_error(error: BaseException) -> str:
    """Return the kind of an error and the place that raised it, without its text.

    For errors of the system the system's own words are added.
    """
    words = type(error).__name__
    if isinstance(error, OSError) and error.errno is not None:
        words += f" ({os.strerror(error.errno)})"
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return words
    frame, line = frames[-1]
    return f"{words} in {frame.f_globals.get('__name__', '?')}, line {line}"


def _line(fields: Mapping[str, object]) -> bytes:
    plain = {name: _plain(value) for name, value in fields.items()}
    return (json.dumps(plain, default=str) + "\n").encode()


def _plain(value: object) -> object:
    """Return a value that JSON has: it knows neither NaN nor infinity."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else str(value)
    return value


def _append(path: Path, line: bytes) -> None:
    """Add a line in a single write, so that lines of several processes do not mix."""
    try:
        descriptor = _open(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _open(path)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _complain_once(folder: Path, error: OSError) -> None:
    if folder not in _complained:
        _complained.add(folder)
        why = error.strerror or type(error).__name__
        with suppress(OSError, ValueError):  # standard error may be closed
            notify(f"deaps: cannot write to {folder} ({why}); going on without")


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 3)


def _flow_run_id() -> str | None:
    """Return the id of the Prefect flow run that this is part of, None outside of one."""
    if "prefect" not in sys.modules:  # importing it takes seconds
        return None
    from prefect.runtime import flow_run

    return flow_run.get_id()


PREPROCESS = "preprocess"
UNCHANGED = "nothing to do"


def log_scan(log: EventLog, scan: Scan) -> None:
    """Write what the scan found in each data set, and which one it could not look at."""
    for scanned in scan.datasets:
        log.write(
            "data set scanned" if scanned.problem is None else "data set skipped",
            level="info" if scanned.problem is None else "warning",
            stage=PREPROCESS,
            dataset=scanned.job.dataset,
            recordings=len(scanned.recordings),
            todo=len(scanned.todo),
            removed=len(scanned.removed),
            reason=scanned.problem,
        )


def log_unchanged(log: EventLog, scan: Scan) -> None:
    """Write that data sets were looked at and the store is up to date with them."""
    seen = [scanned for scanned in scan.datasets if scanned.problem is None]
    log.write(
        UNCHANGED,
        stage=PREPROCESS,
        datasets=[scanned.job.dataset for scanned in seen],
        recordings=sum(len(scanned.recordings) for scanned in seen),
    )


def log_recordings(log: EventLog, result: ChunkResult) -> None:
    """Write what became of each recording that a worker was handed."""
    for row, seconds in zip_longest(result.rows, result.seconds):
        log.write(
            "recording processed",
            level="info" if row.status is Status.OK else "warning",
            stage=PREPROCESS,
            dataset=row.dataset,
            recording=row.name,
            status=str(row.status),
            windows=row.n_windows,
            seconds=seconds,
            reason=row.reason,
        )


def log_publication(log: EventLog, snapshot: Snapshot, *, stage: str) -> None:
    """Write which snapshot is published, and whether the index had to be written for it."""
    log.write(
        "snapshot published",
        level="warning" if snapshot.skipped else "info",
        stage=stage,
        snapshot=snapshot.snapshot_id,
        rebuilt=snapshot.rebuilt,
        recordings=snapshot.n_recordings,
        quarantined=snapshot.n_quarantined,
        windows=snapshot.n_windows,
        skipped=len(snapshot.skipped) or None,
    )


def training_facts(run: Run) -> dict[str, Any]:
    """Return what the log says about a training."""
    return {"method": run.plan.method, "training": run.name, "steps": run.plan.iterations}
