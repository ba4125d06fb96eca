"""Who holds the locks of a store just now, and who waits for them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from storage.layout import LOCK_NAME, WRITERS_LOCK_NAME

_PURPOSES = {
    WRITERS_LOCK_NAME: "bringing the store up to date",
    LOCK_NAME: "publishing the index",
}
_KERNEL_LIST = Path("/proc/locks")
_WAITING = "->"
_COMMAND_LENGTH = 100


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A process that has a lock of the store, or waits for it.

    ``pid`` is None where the kernel does not tell: another container or another machine.
    """

    purpose: str
    pid: int | None
    command: str
    waiting: bool = False


def lock_holders(root: Path) -> list[LockHolder]:
    """Return who works on a store, holders before those who wait."""
    holders = []
    for name, purpose in _PURPOSES.items():
        path = root / name
        if path.exists():
            holders += list(_listed(path, purpose)) or list(_elsewhere(path, purpose))
    return sorted(holders, key=lambda holder: holder.waiting)


def _listed(path: Path, purpose: str) -> Iterator[LockHolder]:
    """Yield the processes that the kernel lists, by the file's inode.

    The device is not compared: on btrfs and overlays the list has another one than ``stat``.
    """
    inode = str(path.stat().st_ino)
    for line in _kernel_lines():
        waiting = _WAITING in line
        words = [word for word in line.split() if word != _WAITING]
        # number, FLOCK, ADVISORY, WRITE, pid, device:device:inode, start, end
        if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
            pid = int(words[4])
            yield LockHolder(purpose, pid, _command(pid), waiting)


def _kernel_lines() -> list[str]:
    try:
        return _KERNEL_LIST.read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux
        return []


def _elsewhere(path: Path, purpose: str) -> Iterator[LockHolder]:
    """Yield a holder without a name if the lock is taken by a process that is not listed.

    The lock is shared and let go at once: a writer that asks in that instant waits a moment.
    """
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        yield LockHolder(purpose, None, "")
    except OSError:  # no permission: nothing can be said
        return


def _command(pid: int) -> str:
    """Return a process's command line without the interpreter, empty if it may not be seen."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    if len(words) > 1 and Path(words[0]).name.startswith("python"):
        del words[0]
    words[0] = Path(words[0]).name
    return " ".join(words).strip()[:_COMMAND_LENGTH]
