"""Locks of a store and of its runs; the kernel frees a lock when its process ends."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from storage.errors import DeapsError
from storage.layout import LOCK_NAME, STEPS_LOCK_NAME, TRAINER_LOCK_NAME, WRITERS_LOCK_NAME

_LAST_STEPS_S = 60.0
"""How long a training waits for one that was just killed, perhaps on another machine."""


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
def steps_lock(folder: Path) -> Iterator[None]:
    """Be the only process that takes steps of the run in ``folder``, whoever started it.

    A process that trains may outlive the one that started it and held `training_lock`.

    Raises
    ------
    StoreBusyError
        If another process takes steps of that run, and goes on.
    """
    deadline = time.monotonic() + _LAST_STEPS_S
    with (folder / STEPS_LOCK_NAME).open("a") as stream:
        while not _is_locked(stream):
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"another process trains {folder}; try again when it has ended"
                )
            time.sleep(0.1)
        yield


def wait_for_steps(folder: Path, *, say_waiting: Callable[[str], None] = lambda _: None) -> None:
    """Wait until no process takes steps of the run in ``folder``: see `steps_lock`."""
    with _exclusive_lock(folder, STEPS_LOCK_NAME, say_waiting):
        pass


def _is_locked(stream: TextIO) -> bool:
    """Lock an open file if nobody else has; return whether it is locked now."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _exclusive_lock(folder: Path, name: str, say_waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock ``name`` in ``folder``; call ``say_waiting`` once if another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a") as stream:
        if not _is_locked(stream):
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
        if not _is_locked(stream):
            message = f"another process writes window files to {root}; try again when it has ended"
            raise StoreBusyError(message)
        yield
