"""The state of a store on the screen, as JSON, and again and again with ``--watch``."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.monitoring.status import (
    Event,
    Published,
    RunStatus,
    StageStatus,
    StoreStatus,
    stages_under_way,
    store_status,
)
from flows.runtime.server_address import named_password, named_server
from storage.maintenance import LockHolder

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


_ID_LENGTH = 12
_RUNS_SHOWN = 20
_REPORTS_SHOWN = 5
_MENTIONED = ("reason", "error", "training", "skipped")
"""Facts of an event that say what was wrong."""

Lines = Iterable[tuple[str, ...]]


def as_json(status: StoreStatus) -> str:
    """Return the state as JSON; times are ISO 8601, sizes are bytes."""
    return json.dumps(asdict(status), default=_as_text, indent=1)


def render(status: StoreStatus) -> RenderableType:
    """Return the state for a terminal."""
    from rich.console import Group

    return Group(*(section(title, lines) for title, lines in _sections(status).items() if lines))


def as_rows(status: StoreStatus) -> list[dict[str, str]]:
    """Return the state as rows: the section, item, and value."""
    return [
        {"section": title, "what": line[0], "value": "; ".join(filter(None, line[1:]))}
        for title, lines in _sections(status).items()
        for line in lines
    ]


def _sections(status: StoreStatus) -> dict[str, list[tuple[str, ...]]]:
    sections = {
        f"Store {status.root}": _store_lines(status),
        "Running now": working_lines(status),
        "Trainings": _run_lines(status),
        "Reports": _report_lines(status),
        "Disk": _disk_lines(status),
        "Last warnings and errors": map(_event_line, status.events),
    }
    return {title: list(lines) for title, lines in sections.items()}


def _store_lines(status: StoreStatus) -> Iterator[tuple[str, ...]]:
    if status.problem is not None:
        yield "published", status.problem
    elif status.published is None:
        yield "published", "nothing published yet; run deaps preprocess"
    else:
        yield from _published_lines(status.published)
        yield "last refresh", f"{_when(status.refreshed_at)}; what changed since: deaps scan"


def _published_lines(published: Published) -> Iterator[tuple[str, ...]]:
    name = published.snapshot_id[:_ID_LENGTH]
    yield "published", f"snapshot {name}, {_when(published.published_at)}"
    yield "in all", _counts(published.recordings, published.quarantined, published.windows)
    for dataset in published.datasets:
        counts = _counts(dataset.recordings, dataset.quarantined, dataset.windows)
        yield dataset.dataset, f"{counts}{'; synthetic' if dataset.synthetic else ''}"


def _counts(recordings: int, quarantined: int, windows: int) -> str:
    by_status = f"{recordings - quarantined:,} ok, {quarantined:,} quarantined"
    return f"{recordings:,} recordings ({by_status}), {windows:,} windows"


def working_lines(status: StoreStatus) -> Iterator[tuple[str, ...]]:
    """Return a line for each process that works on the store or waits for it."""
    for holder in status.working:
        yield holder.purpose, _who(holder)
    for run in status.runs:
        if run.state == "running":
            yield "training", f"{run.name}, step {run.step:,} of {run.steps:,}"
    if not status.working and all(run.state != "running" for run in status.runs):
        yield ("nothing",)


def _who(holder: LockHolder) -> str:
    who = "a process elsewhere" if holder.pid is None else f"process {holder.pid}"
    waits = ", waiting for its turn" if holder.waiting else ""
    return f"{who}{waits}{': ' if holder.command else ''}{holder.command}"


def _run_lines(status: StoreStatus) -> Iterator[tuple[str, ...]]:
    published = status.published.snapshot_id if status.published else None
    for run in status.runs[:_RUNS_SHOWN]:
        yield run.name, _run_text(run, published), _when(run.written_at)
    if (more := len(status.runs) - _RUNS_SHOWN) > 0:
        yield f"and {more} more", "--json names all", ""


def _run_text(run: RunStatus, published: str | None) -> str:
    match run.state:
        case "finished":
            return f"finished, {run.steps:,} steps"
        case "prepared":
            return f"not begun, {run.steps:,} steps"
        case "running":
            return f"running, step {run.step:,} of {run.steps:,}"
        case "stopped" if run.snapshot_id != published:
            return f"stopped at step {run.step:,} of {run.steps:,}; its snapshot is not published"
        case "stopped":
            return f"stopped at step {run.step:,} of {run.steps:,}; run the command again to resume"
        case _:
            return "its config.toml cannot be read"


def _report_lines(status: StoreStatus) -> Iterator[tuple[str, ...]]:
    for report in status.reports[:_REPORTS_SHOWN]:
        page = str(report.page) if report.page else f"no page; run deaps report {report.name}"
        yield report.name, page, _when(report.evaluated_at)


def _disk_lines(status: StoreStatus) -> Iterator[tuple[str, ...]]:
    for part, size in status.disk_bytes.items():
        if size:
            yield part, _size(size)
    yield "free", _size(status.free_bytes)


def _event_line(event: Event) -> tuple[str, ...]:
    where = [str(event[name]) for name in ("stage", "dataset", "recording") if event.get(name)]
    why = [str(event[name]) for name in _MENTIONED if event.get(name)]
    what = f"{event.get('event')}: {'; '.join(why)}" if why else str(event.get("event"))
    at = datetime.fromisoformat(event["time"])
    return f"{event['level']}, {_when(at)}", " ".join(where), what


def section(title: str, lines: Sequence[tuple[str, ...]]) -> RenderableType:
    """Return lines below a title, for a terminal; what is too long goes on in the next line."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2), show_header=False)
    for line in lines:
        # Names come from outside: as Text they cannot carry markup.
        table.add_row(*(Text(cell, overflow="fold") for cell in line))
    return Padding(Group(Text(title, style="bold", overflow="fold"), table), (0, 0, 1, 0))


def _when(at: datetime | None) -> str:
    if at is None:
        return "never"
    return f"{at:%Y-%m-%d %H:%M} UTC ({_ago((datetime.now(UTC) - at).total_seconds())})"


def _ago(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return "now"


def _size(n_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


EVERY_S = 2.0


def watch(root: Path, console: Console, *, times: int | None = None) -> None:
    """Show what happens in a store until Ctrl-C, or so many ``times``.

    In a terminal the screen is redrawn; elsewhere each look is printed below the last.
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
        "Workers": worker_lines(workers_by_pool()),
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


_PATIENCE_S = 3
_CLIENT = "deaps-status"


def workers_by_pool() -> dict[str, list[str]] | None:
    """Return the names of live workers by work pool; None if no server is named or answers."""
    if (url := named_server()) is None:
        return None
    try:
        headers = _headers(url)
        pools = [pool["name"] for pool in _ask(f"{url}/work_pools/filter", headers, b"{}")]
        return {pool: _of_pool(url, pool, headers) for pool in sorted(pools)}
    except (OSError, ValueError, KeyError):  # a server is only looked at, never needed
        return None


def _of_pool(url: str, pool: str, headers: Mapping[str, str]) -> list[str]:
    workers = _ask(f"{url}/work_pools/{pool}/workers/filter", headers, b"{}")
    return sorted(worker["name"] for worker in workers if worker["status"] == "ONLINE")


def _headers(url: str) -> dict[str, str]:
    """Return what the server asks for: a password, and a token against forged requests."""
    headers = {"content-type": "application/json"}
    if password := named_password():
        headers["authorization"] = f"Basic {base64.b64encode(password.encode()).decode()}"
    try:
        given = _ask(f"{url}/csrf-token?client={_CLIENT}", headers)
    except urllib.error.HTTPError as error:
        if error.code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise
        return headers  # it has no such protection
    return headers | {"Prefect-Csrf-Client": _CLIENT, "Prefect-Csrf-Token": given["token"]}


def _ask(url: str, headers: Mapping[str, str], data: bytes | None = None) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url} is no web address")
    request = urllib.request.Request(url, data, dict(headers))  # noqa: S310 - checked above
    with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:  # noqa: S310 - as above
        return json.load(answer)
