"""Whether a file system's locks reach other machines: on some mounts they are this machine's alone.

Runs of a store that work on several machines keep out of each other's way by ``flock``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = ("nfs", "nfs4", "lustre", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "beegfs")


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
            "machine at a time work on this store, or mount it anew"
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
