"""Stages that are under way, told from the store's log and metrics alone: rate, and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flows.monitoring.event_log import FAILED, FINISHED, STARTED
from flows.monitoring.log_tail import Event, last_events
from flows.monitoring.run_status import RunStatus, last_row
from flows.monitoring.stage_events import PREPROCESS
from storage.files import RUNS_FOLDER

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
