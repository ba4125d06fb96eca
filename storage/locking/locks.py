"""Locks of a store and of its runs; the kernel frees a lock when its process ends."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

from storage.errors import DeapsError
from storage.layout import LOCK_NAME, TRAINER_LOCK_NAME, WRITERS_LOCK_NAME


class StoreBusyError(DeapsError):
    """Another process writes to the store."""


@contextlib.contextmanager
def publisher_lock(root: Path) -> Iterator[None]:
    """Be the only publisher of a store; wait for the one before."""
    with (root / LOCK_NAME).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def writer_lock(
    root: Path, *, say_waiting: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Be the only process that brings a store up to date, from scan to publication.

    Two at a time would each publish without the other's recordings, and ``deaps gc`` would
    remove files that no index names yet. ``say_waiting`` is called once if this process waits.
    """
    with _exclusive_lock(root, WRITERS_LOCK_NAME, say_waiting):
        yield


@contextlib.contextmanager
def training_lock(
    folder: Path, *, say_waiting: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Be the only process that trains the run in ``folder``: two would lose each other's steps."""
    with _exclusive_lock(folder, TRAINER_LOCK_NAME, say_waiting):
        yield


@contextlib.contextmanager
def _exclusive_lock(folder: Path, name: str, say_waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock ``name`` in ``folder``; call ``say_waiting`` once if another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say_waiting(f"another run is working on {folder}; waiting for it to end")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def no_writer(root: Path) -> Iterator[None]:
    """Keep writers of window files out.

    Raises
    ------
    StoreBusyError
        If a process writes window files now.
    """
    with (root / WRITERS_LOCK_NAME).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another process writes window files to {root}; try again when it has ended"
            raise StoreBusyError(message) from None
        yield
