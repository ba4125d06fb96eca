"""What the stages write to the log of a store."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from storage.schema import Status

if TYPE_CHECKING:
    from deaps.training.run_folder import Run
    from flows.ingest.recording import ChunkResult
    from flows.ingest.scan import Scan
    from flows.monitoring.event_log import EventLog
    from storage.snapshot import Snapshot

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
