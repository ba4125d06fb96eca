"""The state of a store, read without starting anything: what is published, running, wrong.

Nothing here imports torch or Prefect, and no data set is looked at.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from deaps.evaluation.document import PAGE_NAME
from deaps.training.metrics import LINES_NAME
from deaps.training.run_folder import CONFIG_NAME, Run, open_run
from flows.monitoring.event_log import FAILED, FINISHED, PREPROCESS, STARTED, UNCHANGED
from storage.errors import DeapsError
from storage.files import LOGS_FOLDER, REPORTS_FOLDER, RESULTS_NAME, RUNS_FOLDER
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
    """All that ``deaps status`` prints.

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
    """Return the newer of the last scan in the index and the last one in the log.

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


_EVENTS = 20_000
"""Events that are looked through: some nights of SHHS have one each."""

_OLD = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class StageStatus:
    """A stage under way: how far, how fast (items a second), and when it will have ended.

    What is not known is None.
    """

    name: str
    started_at: datetime
    done: int | None = None
    total: int | None = None
    per_s: float | None = None
    unit: str = ""
    ends_at: datetime | None = None


def stages_under_way(
    root: Path, runs: Iterable[RunStatus], now: datetime | None = None
) -> list[StageStatus]:
    """Return the stages that started and have neither finished nor failed, the oldest first.

    A training is under way if it still writes; what a kill ended may be listed for a week.
    """
    now = now or datetime.now(UTC)
    events = last_events(root, lambda event: "stage" in event, most=_EVENTS)[::-1]
    trainings = [_training(root, run, now) for run in runs if run.state == "running"]
    others = [_stage(event, events, now) for event in _open(events, now)]
    return sorted([*others, *trainings], key=lambda stage: stage.started_at)


def _open(events: list[Event], now: datetime) -> list[Event]:
    """Return the starts of stages other than trainings that no end follows."""
    started: dict[str, Event] = {}
    for event in events:
        if "training" in event:
            continue
        if event["event"] == STARTED:
            started[event["stage"]] = event
        elif event["event"] in (FINISHED, FAILED):
            started.pop(event["stage"], None)
    return [event for event in started.values() if now - _at(event) < _OLD]


def _stage(start: Event, events: list[Event], now: datetime) -> StageStatus:
    if start["stage"] != PREPROCESS:
        return StageStatus(start["stage"], _at(start))
    since = [event for event in events if event["time"] >= start["time"]]
    total = sum(event.get("todo", 0) for event in since if event["event"] == "data set scanned")
    done = sum(event["event"] == "recording processed" for event in since)
    elapsed_s = (now - _at(start)).total_seconds()
    per_s = done / elapsed_s if done and elapsed_s > 0 else None
    return StageStatus(
        PREPROCESS, _at(start), done, total, per_s, "recordings", _end(now, total - done, per_s)
    )


def _training(root: Path, run: RunStatus, now: datetime) -> StageStatus:
    row = last_row(root / RUNS_FOLDER / run.name)
    step_s = float(row.get("step_s", 0.0))
    per_s = 1 / step_s if step_s > 0 else None
    started_at = now - timedelta(seconds=run.step * step_s)
    return StageStatus(
        f"train {run.name}",
        started_at,
        run.step,
        run.steps,
        per_s,
        "steps",
        _end(now, run.steps - run.step, per_s),
    )


def _end(now: datetime, left: int, per_s: float | None) -> datetime | None:
    return now + timedelta(seconds=left / per_s) if per_s else None


def _at(event: Event) -> datetime:
    return datetime.fromisoformat(event["time"])


RunState = Literal["prepared", "running", "stopped", "finished", "unreadable"]
"""A prepared training has not begun: it waits for those that the same command began before."""

_SILENT_S = 120.0
"""A training that wrote nothing for so long has stopped, unless its steps are slow."""

_MISSED_ROWS = 3
"""Rows of metrics that a slow training may be late by."""

_TAIL_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One training; ``step`` is the last in its metrics."""

    name: str
    method: str
    state: RunState
    step: int
    steps: int
    written_at: datetime
    snapshot_id: str


def run_statuses(root: Path) -> list[RunStatus]:
    """Return the trainings of a store, the one that wrote last first."""
    configs = (root / RUNS_FOLDER).glob(f"*/{CONFIG_NAME}")
    statuses = [_status(config.parent) for config in configs]
    return sorted(statuses, key=lambda run: run.written_at, reverse=True)


def _status(folder: Path) -> RunStatus:
    written = _last_written(folder)
    at = datetime.fromtimestamp(written, UTC)
    try:
        run = open_run(folder)
    # TOML's and pydantic's errors are ValueErrors.
    except (DeapsError, OSError, ValueError, KeyError):
        return RunStatus(folder.name, "", "unreadable", 0, 0, at, "")
    row = last_row(folder)
    state = _state(run, row, time.time() - written)
    step = run.plan.iterations if state == "finished" else int(row.get("step", 0))
    return RunStatus(
        run.name, run.plan.method, state, step, run.plan.iterations, at, run.snapshot_id
    )


def _state(run: Run, row: dict[str, Any], silent_s: float) -> RunState:
    if run.finished:
        return "finished"
    if not (run.folder / LINES_NAME).exists():
        return "prepared"
    row_s = float(row.get("step_s", 0.0)) * run.plan.training.metrics_every
    return "running" if silent_s < max(_SILENT_S, _MISSED_ROWS * row_s) else "stopped"


def _last_written(folder: Path) -> float:
    """Return when the training last wrote; before it began, when it was prepared."""
    paths = (folder / LINES_NAME, folder / CONFIG_NAME)
    return next(path.stat().st_mtime for path in paths if path.exists())


def last_row(folder: Path) -> dict[str, Any]:
    """Return the last row of metrics, empty without one; a row cut short by a kill is none."""
    for line in reversed(read_tail(folder / LINES_NAME, _TAIL_BYTES)):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            return row
    return {}


Event = dict[str, Any]

_DAYS = 7
"""Files that are looked into, the newest first."""

_TAIL_BYTES_LOG_TAIL = 2**20
"""Most that is read of each: some thousand lines."""


def read_tail(path: Path, most_bytes: int) -> list[bytes]:
    """Return the last lines of a file, of at most so many bytes, the first one whole.

    Where the file cannot be read there are none.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            start = stream.seek(max(0, size - most_bytes))
            lines = stream.read().splitlines()
    except OSError:
        return []
    return lines[1:] if start else lines


def last_events(root: Path, wanted: Callable[[Event], bool], *, most: int = 1) -> list[Event]:
    """Return the last events that are ``wanted``, the newest first."""
    events: list[Event] = []
    for path in sorted((root / LOGS_FOLDER).glob("*.jsonl"), reverse=True)[:_DAYS]:
        for event in _newest_first(path):
            if wanted(event):
                events.append(event)
            if len(events) == most:
                return events
    return events


def _newest_first(path: Path) -> Iterator[Event]:
    """Yield a file's last events; a line that a full disk cut short is left out."""
    for line in reversed(read_tail(path, _TAIL_BYTES_LOG_TAIL)):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


_BLOCKS = "▁▂▃▄▅▆▇█"
_POINTS = 20
_CURVES = ("loss", "representation_std", "effective_rank")
_COLUMNS = ("step", *_CURVES, "windows_per_s")


def curve_page(run: str, rows: Sequence[Mapping[str, float]]) -> str:
    """Return a run's metrics as Markdown: a line of blocks for each curve, and some rows."""
    shown = rows[:: max(1, len(rows) // _POINTS)]
    curves = [
        f"| {name.replace('_', ' ')} | `{sparkline([row[name] for row in shown])}` "
        f"| {rows[0][name]:.4g} | {rows[-1][name]:.4g} |"
        for name in _CURVES
    ]
    table = [f"| {' | '.join(_COLUMNS)} |", f"|{' --- |' * len(_COLUMNS)}"]
    table += [f"| {' | '.join(f'{row[n]:.4g}' for n in _COLUMNS)} |" for row in shown]
    head = f"## Run {run}\n\n|  | curve | first | last |\n| --- | --- | --- | --- |"
    return "\n".join([head, *curves, "", *table])


def sparkline(values: Sequence[float]) -> str:
    """Return a block for each value, from the lowest to the highest; equal values are low."""
    low, high = min(values), max(values)
    scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BLOCKS[round((value - low) * scale)] for value in values)
