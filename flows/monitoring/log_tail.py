"""The last lines of a store's log that somebody asks for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from flows.monitoring.file_tail import read_tail
from storage.layout import LOGS_FOLDER

Event = dict[str, Any]

_DAYS = 7
"""Files that are looked into, the newest first."""

_TAIL_BYTES = 2**20
"""Most that is read of each: some thousand lines."""


def last_events(root: Path, wanted: Callable[[Event], bool], *, most: int = 1) -> list[Event]:
    """Return the last events that are ``wanted``, the newest first."""
    found: list[Event] = []
    for path in sorted((root / LOGS_FOLDER).glob("*.jsonl"), reverse=True)[:_DAYS]:
        for event in _newest_first(path):
            if wanted(event):
                found.append(event)
            if len(found) == most:
                return found
    return found


def _newest_first(path: Path) -> Iterator[Event]:
    """Yield a file's last events; a line that a full disk cut short is left out."""
    for line in reversed(read_tail(path, _TAIL_BYTES)):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event
