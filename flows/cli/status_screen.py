"""The state of a store on the screen, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flows.monitoring.log_tail import Event
from flows.monitoring.run_status import RunStatus
from flows.monitoring.status import Published, StoreStatus
from storage.maintenance import LockHolder

if TYPE_CHECKING:
    from rich.console import RenderableType

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
    """Return the state as rows: the section, what, and what is said of it."""
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
            return f"stopped at step {run.step:,} of {run.steps:,}; the same command goes on"
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
