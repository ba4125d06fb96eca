"""Who may write in a store: its locks, how far they reach, and which processes live."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from storage.errors import DeapsError
from storage.files import LOCK_NAME, STEPS_LOCK_NAME, TRAINER_LOCK_NAME, WRITERS_LOCK_NAME

_LAST_STEPS_S = 60.0
"""How long a training waits for one that was just killed, perhaps on another machine."""

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = ("nfs", "nfs4", "lustre", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "beegfs")


@contextlib.contextmanager
def publisher_lock(root: Path) -> Iterator[None]:
    """Be the only publisher of a store; wait for the one before."""
    with (root / LOCK_NAME).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def writer_lock(root: Path, *, on_wait: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Be the only process that brings a store up to date, from scan to publication.

    Two at a time would each publish without the other's recordings, and ``deaps gc`` would
    remove files that no index names yet. ``on_wait`` is called once if this process waits.
    """
    with _exclusive_lock(root, WRITERS_LOCK_NAME, on_wait):
        yield


@contextlib.contextmanager
def training_lock(
    folder: Path, *, on_wait: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Be the only process that trains the run in ``folder``: two would lose each other's steps."""
    with _exclusive_lock(folder, TRAINER_LOCK_NAME, on_wait):
        yield


@contextlib.contextmanager
def steps_lock(folder: Path) -> Iterator[None]:
    """Be the only process that takes steps of the run in ``folder``, whoever started it.

    A process that trains may outlive the one that started it and held `training_lock`.

    Raises
    ------
    DeapsError
        If another process takes steps of that run, and goes on.
    """
    deadline = time.monotonic() + _LAST_STEPS_S
    with (folder / STEPS_LOCK_NAME).open("a") as stream:
        while not _is_locked(stream):
            if time.monotonic() > deadline:
                raise DeapsError(f"another process trains {folder}; try again when it has ended")
            time.sleep(0.1)
        yield


def wait_for_steps(folder: Path, *, on_wait: Callable[[str], None] = lambda _: None) -> None:
    """Wait until no process takes steps of the run in ``folder``: see `steps_lock`."""
    with _exclusive_lock(folder, STEPS_LOCK_NAME, on_wait):
        pass


def _is_locked(stream: TextIO) -> bool:
    """Lock an open file if nobody else has; return whether it is locked now."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _exclusive_lock(folder: Path, name: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock ``name`` in ``folder``; call ``on_wait`` once if another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("a") as stream:
        if not _is_locked(stream):
            on_wait(f"another run is working on {folder}; waiting for it to end")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def no_writer(root: Path) -> Iterator[None]:
    """Keep writers of window files out.

    Raises
    ------
    DeapsError
        If a process writes window files now.
    """
    with (root / WRITERS_LOCK_NAME).open("a") as stream:
        if not _is_locked(stream):
            message = f"another process writes window files to {root}; try again when it has ended"
            raise DeapsError(message)
        yield


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system: where, of which kind, with which options."""

    point: Path
    kind: str
    options: frozenset[str]


def lock_problem(path: Path, mounts: Iterable[str] | None = None) -> str | None:
    """Return why locks below ``path`` do not reach other machines, None if nothing says so.

    A local disk has no other machines, so that nothing is wrong with it here. ``mounts`` are
    lines of ``/proc/self/mountinfo``; where the system has no such file nothing is known.
    """
    mount = _mount_of(path.resolve(), _read_mounts() if mounts is None else mounts)
    if mount is None or mount.kind not in _NETWORK:
        return None
    if reason := _reason(mount):
        return (
            f"locks on {mount.point} ({mount.kind}) do not reach other machines: {reason}. Let one "
            "machine at a time work on this store, or mount it again"
        )
    return None


def _reason(mount: Mount) -> str | None:
    match mount.kind:
        case "nfs" | "nfs4":
            alone = {"nolock", "local_lock=all", "local_lock=flock"} & mount.options
            return f"it is mounted with {min(alone)}" if alone else None
        case "lustre":
            if "flock" in mount.options:
                return None
            return "it is mounted without the option flock"
        case "cifs" | "smb3":
            return "it is mounted with nobrl" if "nobrl" in mount.options else None
        case "9p" | "fuse.sshfs":
            return "this kind of mount locks on its own machine alone"
        case _:
            return None


def _mount_of(path: Path, lines: Iterable[str]) -> Mount | None:
    """Return the mount that a path lies on: the one with the longest mount point."""
    mounts = [mount for mount in map(_parse, lines) if mount and path.is_relative_to(mount.point)]
    return max(mounts, key=lambda mount: len(mount.point.parts), default=None)


def _parse(line: str) -> Mount | None:
    """Return a line of mountinfo: ids, root, point, options, ... - kind, source, options."""
    before, separator, after = line.partition(" - ")
    first, last = before.split(), after.split()
    if not separator or len(first) < 6 or len(last) < 3:
        return None
    point = first[4].encode().decode("unicode_escape")  # a space is written as \040
    return Mount(Path(point), last[0], frozenset(f"{first[5]},{last[2]}".split(",")))


def _read_mounts() -> list[str]:
    try:
        return _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return []


def command_words(pid: int) -> list[str]:
    """Return the words of a process's command line.

    There are none if the process has ended, or if this user may not see it.
    """
    import psutil  # type: ignore[import-untyped]  # it ships no types

    try:
        return list(psutil.Process(pid).cmdline())
    except psutil.Error:
        return []


def start_time(pid: int) -> float | None:
    """Return when a process started, None if it has ended; with it a pid is never another's."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def processes_with_open_file(path: Path) -> list[int]:
    """Return the pids of all processes that this user may see and that have a file open."""
    import psutil

    wanted = str(path.resolve())
    return [
        process.pid
        for process in psutil.process_iter(["open_files"], ad_value=())
        if any(file.path == wanted for file in process.info["open_files"])
    ]
