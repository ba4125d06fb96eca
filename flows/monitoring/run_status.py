"""How far each training of a store has come, told from its files alone."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from deaps.training.metrics import LINES_NAME
from deaps.training.run_folder import CONFIG_NAME, Run, open_run
from flows.monitoring.log_tail import read_tail
from storage.errors import DeapsError
from storage.files import RUNS_FOLDER

RunState = Literal["prepared", "running", "stopped", "finished", "unreadable"]
"""A prepared training has not begun: it waits for those that the same command began before."""

_SILENT_S = 120.0
"""A training that wrote nothing for so long has stopped, unless its steps are slow."""

_MISSED_ROWS = 3
"""Rows of metrics that a slow training may be late by."""

_TAIL_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class RunStatus:
    """One training; ``step`` is the last that its metrics tell of."""

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
