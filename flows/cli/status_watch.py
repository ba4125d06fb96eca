"""``deaps status --watch``: stages, runs, workers, throughput and end, again and again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from flows.cli.status_screen import Lines, section, working_lines
from flows.monitoring.live_workers import live_workers
from flows.monitoring.run_status import RunStatus
from flows.monitoring.stage_status import StageStatus, stages_under_way
from flows.monitoring.status import StoreStatus, store_status

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

EVERY_S = 2.0


def watch(root: Path, console: Console, *, times: int | None = None) -> None:
    """Show what happens in a store until Ctrl-C, or so many ``times``.

    In a terminal the screen is drawn anew; elsewhere each look is printed below the last.
    """
    from rich.live import Live

    try:
        with Live(console=console, auto_refresh=False, screen=console.is_terminal) as live:
            count = 0
            while times is None or count < times:
                if count:
                    time.sleep(EVERY_S)
                live.update(look(root), refresh=True)
                count += 1
    except KeyboardInterrupt:
        pass


def look(root: Path) -> RenderableType:
    """Return what happens in a store now, for a terminal."""
    from rich.console import Group
    from rich.text import Text

    if not root.is_dir():
        return Text(f"no store at {root}")
    status = store_status(root)
    stages = stages_under_way(root, status.runs)
    sections = {
        "Running now": working_lines(status),
        "Under way": stage_lines(stages),
        "Runs": run_lines(status),
        "Workers": worker_lines(live_workers()),
    }
    rows = {title: list(lines) for title, lines in sections.items()}
    where = Text(f"Store {status.root}, {datetime.now(UTC):%H:%M:%S} UTC\n", overflow="fold")
    return Group(where, *(section(title, lines) for title, lines in rows.items() if lines))


def stage_lines(stages: list[StageStatus]) -> Lines:
    """Return a line for each stage: how far, how fast, and when it ends."""
    for stage in stages:
        how_far = "" if stage.total is None else f"{stage.done:,} of {stage.total:,} {stage.unit}"
        how_fast = "" if stage.per_s is None else f"{stage.per_s:.3g} {stage.unit} a second"
        ends = f"ends about {stage.ends_at:%d %b %H:%M} UTC" if stage.ends_at else ""
        yield stage.name, how_far or f"since {stage.started_at:%H:%M:%S} UTC", how_fast, ends


def run_lines(status: StoreStatus) -> Lines:
    """Return how many trainings there are of each state, and those that run or stopped."""
    states = [run.state for run in status.runs]
    counts = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    if counts:
        yield "in all", ", ".join(counts)
    yield from _unfinished(status.runs)


def _unfinished(runs: list[RunStatus]) -> Iterator[tuple[str, ...]]:
    for run in runs:
        if run.state in ("running", "stopped"):
            yield run.name, f"{run.state} at step {run.step:,} of {run.steps:,}"


def worker_lines(workers: dict[str, list[str]] | None) -> Lines:
    """Return the live workers of each pool; no line without a server."""
    for pool, names in (workers or {}).items():
        yield f"pool {pool}", ", ".join(names) or "no live worker"
