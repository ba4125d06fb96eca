"""What has to hold for a store that several machines work on."""

from __future__ import annotations

from pathlib import Path

from flows.runtime.console import say
from storage.locks import lock_problem

_said: set[Path] = set()
"""Stores that this process has warned of."""


def warn_of_locks(store: Path) -> None:
    """Say once if the locks of a store's file system do not reach other machines."""
    if store in _said:
        return
    _said.add(store)
    if problem := lock_problem(store):
        say(f"warning: {problem}")
