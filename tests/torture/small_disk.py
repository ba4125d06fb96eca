"""A small disk that can be full: a tmpfs that only this process and its children see."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.torture.child import forked

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_LARGE = 1 << 30


class SmallDisk:
    """A disk at ``path``; where mounting is refused, a limit of file sizes takes its place."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.is_mounted = _own_mounts() and _mount(path)

    def when_full(self, work: Callable[[], Any], *, leave: int, limit_s: float = 120.0) -> Any:
        """Return what ``work`` returns, in a child, on a disk with ``leave`` bytes of space."""
        if not self.is_mounted:
            return forked(partial(_limited, leave, work), limit_s)
        self._resize(_used(self.path) + leave)
        try:
            return forked(work, limit_s)
        finally:
            self._resize(_LARGE)

    def _resize(self, n_bytes: int) -> None:
        options = f"remount,size={max(n_bytes, 4096)}"  # a size of 0 means without limit
        subprocess.run(["mount", "-o", options, str(self.path)], check=True)


def _used(path: Path) -> int:
    disk = os.statvfs(path)
    return (disk.f_blocks - disk.f_bfree) * disk.f_frsize


def _own_mounts() -> bool:
    """Give this process mounts of its own, which go with it; return whether that is allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_MOUNTS) == 0:
        return True
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_NEW_MOUNTS | _NEW_USER) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    return True


def _mount(path: Path) -> bool:
    commands = (
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "-o", f"size={_LARGE}", "none", str(path)],
    )
    done = [subprocess.run(command, check=False, capture_output=True) for command in commands]
    return all(each.returncode == 0 for each in done)


def _limited(n_bytes: int, work: Callable[[], Any]) -> Any:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))
    return work()
