"""Who may work on a store at the same time. The kernel frees every lock when its process ends."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

from storage.errors import DeapsError
from storage.layout import LOCK_NAME, TRAINER_LOCK_NAME, WRITERS_LOCK_NAME


class StoreBusyError(DeapsError):
    """Somebody else is writing to the store."""


@contextlib.contextmanager
def publisher_lock(root: Path) -> Iterator[None]:
    """Be the only publisher of a store, waiting for whoever is."""
    with (root / LOCK_NAME).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def writing_windows(
    root: Path, *, say_waiting: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Be the only one who brings a store up to date, from the look at it to publication.

    Two at a time would each publish without the other's recordings, and ``gc`` would remove
    files that no index names yet. ``say_waiting`` is told once if somebody else is at it.
    """
    with _alone(root, WRITERS_LOCK_NAME, say_waiting):
        yield


@contextlib.contextmanager
def training(
    folder: Path, *, say_waiting: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Be the only one who trains the run in ``folder``: two would lose each other's steps."""
    with _alone(folder, TRAINER_LOCK_NAME, say_waiting):
        yield


@contextlib.contextmanager
def _alone(folder: Path, name: str, say_waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock ``name`` in ``folder``; ``say_waiting`` is told once if another has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say_waiting(f"another run is working on {folder}; waiting for it to end")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def nobody_writing(root: Path) -> Iterator[None]:
    """Keep writers of window files away.

    Raises
    ------
    StoreBusyError
        If there are any.
    """
    with (root / WRITERS_LOCK_NAME).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"window files are being written to {root}; try again when that is done"
            raise StoreBusyError(message) from None
        yield
