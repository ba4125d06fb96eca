"""Who holds the locks of a store now, and who waits for them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from storage.layout import LOCK_NAME, WRITERS_LOCK_NAME
from storage.locking.processes import command_words, processes_with_open_file

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

    ``pid`` is None if the process cannot be named: it runs in another container or on another
    machine, or several processes on a system without a list of locks come into question.
    """

    purpose: str
    pid: int | None
    command: str
    waiting: bool = False


def lock_holders(root: Path) -> list[LockHolder]:
    """Return who works on a store, holders before those who wait."""
    holders: list[LockHolder] = []
    for name, purpose in _PURPOSES.items():
        path = root / name
        if path.exists():
            holders += list(_listed_holders(path, purpose)) or _unlisted_holder(path, purpose)
    return sorted(holders, key=lambda holder: holder.waiting)


def _listed_holders(path: Path, purpose: str) -> Iterator[LockHolder]:
    """Yield the processes that the kernel lists, by the file's inode.

    The device is not compared: on btrfs and overlays the list has another one than ``stat``.
    """
    inode = str(path.stat().st_ino)
    for line in _kernel_lines():
        waiting = _WAITING in line
        words = [word for word in line.split() if word != _WAITING]
        # number, FLOCK, ADVISORY, WRITE, pid, device:device:inode, start, end
        if len(words) > 5 and words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
            yield _holder(purpose, int(words[4]), waiting=waiting)


def _kernel_lines() -> list[str]:
    try:
        return _KERNEL_LIST.read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux
        return []


def _unlisted_holder(path: Path, purpose: str) -> list[LockHolder]:
    """Return the holder of a lock that the kernel does not list.

    Without a list, as on macOS, it is the process that has the file open, if there is only one.
    """
    if not _is_locked(path):
        return []
    pids = processes_with_open_file(path)
    return [_holder(purpose, pids[0]) if len(pids) == 1 else LockHolder(purpose, None, "")]


def _is_locked(path: Path) -> bool:
    """Ask for a shared lock and release it at once: a writer that asks meanwhile waits briefly."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no permission to ask
        return False
    return False


def _holder(purpose: str, pid: int, *, waiting: bool = False) -> LockHolder:
    if pid <= 0:  # how the kernel lists a process of another machine
        return LockHolder(purpose, None, "", waiting)
    return LockHolder(purpose, pid, _short_command(command_words(pid)), waiting)


def _short_command(words: list[str]) -> str:
    """Return a command line without the interpreter and without the program's folder."""
    if len(words) > 1 and Path(words[0]).name.startswith("python"):
        words = words[1:]
    if not words:
        return ""
    return " ".join([Path(words[0]).name, *words[1:]]).strip()[:_COMMAND_LENGTH]
