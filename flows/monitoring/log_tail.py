"""The ends of files that other processes may be writing: the store's log, and metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from storage.files import LOGS_FOLDER

Event = dict[str, Any]

_DAYS = 7
"""Files that are looked into, the newest first."""

_TAIL_BYTES = 2**20
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
    for line in reversed(read_tail(path, _TAIL_BYTES)):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
