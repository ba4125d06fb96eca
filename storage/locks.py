"""Who may work on a store at the same time. The kernel frees every lock when its process ends."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from storage.layout import LOCK_NAME, WRITERS_LOCK_NAME


class StoreBusyError(RuntimeError):
    """Somebody else is writing to the store."""


@contextlib.contextmanager
def publisher_lock(root: Path) -> Iterator[None]:
    """Be the only publisher of a store, waiting for whoever is."""
    with (root / LOCK_NAME).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def writing_windows(root: Path) -> Iterator[None]:
    """Keep ``gc`` away while window files are written that no index names yet.

    Any number of processes may write at a time.
    """
    root.mkdir(parents=True, exist_ok=True)
    with (root / WRITERS_LOCK_NAME).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
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
