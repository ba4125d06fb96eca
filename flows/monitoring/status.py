"""The state of a store, told without starting anything: what is published, running, wrong.

Nothing here imports torch or Prefect, and no data set is looked at.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from deaps.evaluation.document import PAGE_NAME
from flows.monitoring.event_log import FINISHED
from flows.monitoring.log_tail import Event, last_events
from flows.monitoring.run_status import RunStatus, run_statuses
from flows.monitoring.stage_events import PREPROCESS, UNCHANGED
from storage.files import REPORTS_FOLDER, RESULTS_NAME
from storage.maintenance import LockHolder, disk_use, lock_holders
from storage.snapshot import IndexMissingError, IndexVersionError, read_snapshot, reading_index

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_PROBLEMS_SHOWN = 5
_LOOKED = (FINISHED, UNCHANGED)
"""Events of the preprocessing stage after which a store is up to date."""

_DATASETS = """
SELECT dataset, n_recordings, n_quarantined, n_windows, scanned_at_ns, synthetic
FROM datasets ORDER BY dataset
"""


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """What is published of one data set, and when it was scanned for that."""

    dataset: str
    recordings: int
    quarantined: int
    windows: int
    scanned_at: datetime
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Published:
    """The published snapshot."""

    snapshot_id: str
    published_at: datetime
    recordings: int
    quarantined: int
    windows: int
    datasets: tuple[DatasetStatus, ...]


@dataclass(frozen=True, slots=True)
class ReportStatus:
    """One evaluation, and its page where that is written."""

    name: str
    evaluated_at: datetime
    page: Path | None


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """All that ``deaps status`` tells.

    ``published`` is None where nothing is, or where ``problem`` says why it cannot be read.
    """

    root: Path
    published: Published | None
    problem: str | None
    refreshed_at: datetime | None
    """When the data sets were last looked at and the index was up to date with them."""
    working: list[LockHolder]
    runs: list[RunStatus]
    reports: list[ReportStatus]
    disk_bytes: dict[str, int]
    free_bytes: int
    events: list[Event]
    """The last warnings and errors of the log, the newest first."""


def store_status(root: Path) -> StoreStatus:
    """Return the state of the store in ``root``, a folder that exists."""
    published, problem = _published(root)
    return StoreStatus(
        root=root.resolve(),
        published=published,
        problem=problem,
        refreshed_at=_refreshed_at(root, published),
        working=lock_holders(root),
        runs=run_statuses(root),
        reports=_reports(root),
        disk_bytes=disk_use(root),
        free_bytes=shutil.disk_usage(root).free,
        events=last_events(root, _is_problem, most=_PROBLEMS_SHOWN),
    )


def _published(root: Path) -> tuple[Published | None, str | None]:
    try:
        with reading_index(root) as index:
            return _read_published(index), None
    except IndexMissingError:
        return None, None
    except IndexVersionError as error:
        return None, str(error)


def _read_published(index: DuckDBPyConnection) -> Published:
    snapshot = read_snapshot(index)
    datasets = [
        DatasetStatus(name, n, aside, windows, datetime.fromtimestamp(at_ns / 1e9, UTC), synthetic)
        for name, n, aside, windows, at_ns, synthetic in index.execute(_DATASETS).fetchall()
    ]
    return Published(
        snapshot_id=snapshot.snapshot_id,
        published_at=snapshot.published_at.replace(tzinfo=UTC),
        recordings=snapshot.n_recordings,
        quarantined=snapshot.n_quarantined,
        windows=snapshot.n_windows,
        datasets=tuple(datasets),
    )


def _refreshed_at(root: Path, published: Published | None) -> datetime | None:
    """Return the newer of the last scan in the index and the last one that the log tells of.

    A scan that found nothing changed publishes nothing, so only the log knows of it.
    """
    if published is None:
        return None
    times = [dataset.scanned_at for dataset in published.datasets]
    times += [datetime.fromisoformat(event["time"]) for event in last_events(root, _is_refresh)]
    return max(times, default=None)


def _is_refresh(event: Event) -> bool:
    return event.get("stage") == PREPROCESS and event.get("event") in _LOOKED


def _is_problem(event: Event) -> bool:
    return event.get("level") in ("warning", "error")


def _reports(root: Path) -> list[ReportStatus]:
    """Return the evaluations of a store, the newest first."""
    reports = []
    for results in (root / REPORTS_FOLDER).glob(f"*/{RESULTS_NAME}"):
        page = results.with_name(PAGE_NAME)
        at = datetime.fromtimestamp(results.stat().st_mtime, UTC)
        name = results.parent.name
        reports.append(ReportStatus(name, at, page.resolve() if page.exists() else None))
    return sorted(reports, key=lambda report: report.evaluated_at, reverse=True)
