"""Memory maps of many files, no more open at a time than the system allows."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import resource
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from storage.schema import WINDOW_SAMPLES
from storage.windows.file import WindowFileError

WINDOW = np.dtype(f"V{2 * WINDOW_SAMPLES}")
"""A window as an opaque item: blocks often start at an odd byte, which float16 cannot."""

_MOST_MAPS = 32_000
"""The kernel allows a process 65,530 maps, and libraries are mapped, too."""

_MOST_RESERVED = 256
"""Open files that are left to the rest of the process, where the limit is not too low."""

_MACOS_OPEN_MAX = 10_240
"""What macOS allows a process at most, also where its hard limit is infinite."""

_NO_MORE_MAPS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)

_CACHES: weakref.WeakSet[MapCache] = weakref.WeakSet()
"""All caches of this process, which share its limits."""


_VERIFIED: set[tuple[str, int, int]] = set()
"""Path, inode and time of the files that this process has compared with their digests."""


def raise_open_file_limit() -> int:
    """Raise this process's soft limit of open files as far as a reader of windows can use it.

    Every mapped window file keeps one file open. `WindowStore` works within any limit and maps
    files again when it must. A program that reads windows of thousands of recordings at random,
    such as a training, calls this first. Children started later inherit the limit.

    Returns
    -------
    The soft limit after the call.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(_MOST_MAPS + _MOST_RESERVED, _as_number(hard))
    for limit in (wanted, _MACOS_OPEN_MAX):
        if limit <= _as_number(soft):
            break
        with contextlib.suppress(ValueError, OSError):  # the hard limit is not always granted
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            break
    return open_file_limit()


def open_file_limit() -> int:
    """Return this process's soft limit of open files."""
    return _as_number(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _as_number(limit: int) -> int:
    # RLIM_INFINITY is -1 on Linux.
    return _MOST_MAPS + _MOST_RESERVED if limit == resource.RLIM_INFINITY else limit


class MapCache:
    """Mapped signal blocks by key; beyond ``cap`` the least recently used ones are closed.

    A block stays valid after it has left the cache. Threads may share a cache and a process may
    fork at any time: each step is one operation of a plain dict, which is whole before another
    thread can run, so no child can inherit a closed lock. (An `OrderedDict` is not: it closes a
    map that is replaced in the middle of its own work, which lets other threads in, and its
    two parts then disagree for good.) A pickled cache starts empty.

    Parameters
    ----------
    max_maps
        Files mapped at a time; default: as many as the limit of open files allows.
    """

    def __init__(self, max_maps: int | None = None) -> None:
        self._max_maps = max_maps
        self._blocks: dict[int, NDArray[np.void]] = {}  # the least recently used first
        _CACHES.add(self)

    @property
    def cap(self) -> int:
        """Files that may be mapped at a time, by the limit that the process has now."""
        if self._max_maps is not None:
            return max(1, self._max_maps)
        limit = open_file_limit()
        return max(1, min(limit - min(_MOST_RESERVED, limit // 2), _MOST_MAPS))

    def __len__(self) -> int:
        return len(self._blocks)

    def __reduce__(self) -> tuple[type[MapCache], tuple[int | None]]:
        return MapCache, (self._max_maps,)

    def get(self, key: int) -> NDArray[np.void] | None:
        """Return the block of ``key`` if it is mapped."""
        block = self._blocks.pop(key, None)
        if block is not None:
            self._blocks[key] = block
        return block

    def put(self, key: int, block: NDArray[np.void]) -> None:
        """Keep ``block``, and drop the least recently used ones beyond the cap."""
        self._blocks[key] = block
        self.shrink(self.cap)

    def shrink(self, n: int) -> None:
        """Drop the least recently used blocks until at most ``n`` are left."""
        # Counted first: each thread drops its share, and none can go on for ever.
        for _ in range(len(self._blocks) - n):
            with contextlib.suppress(StopIteration, RuntimeError):  # another thread was faster
                self._blocks.pop(next(iter(self._blocks)), None)


def map_windows(
    path: Path, *, size: int, offset: int, n_windows: int, sha256: str | None = None
) -> NDArray[np.void]:
    """Return the windows of a file as (n_windows,) opaque items of 2000 bytes.

    The file is compared with ``sha256`` the first time that this process maps it: nothing else
    notices a changed bit. That takes 3 ms for a night.

    If the process can open or map no more, half of what all caches hold is closed first:
    several stores and other files share the limit.

    Raises
    ------
    storage.windows.file.WindowFileError
        If the file is missing, is not ``size`` bytes long or was changed.
    """
    try:
        return _map(path, size, offset, n_windows, sha256)
    except OSError as error:
        if error.errno not in _NO_MORE_MAPS:
            raise
    for cache in list(_CACHES):
        cache.shrink(len(cache) // 2)
    return _map(path, size, offset, n_windows, sha256)


def _map(
    path: Path, size: int, offset: int, n_windows: int, sha256: str | None
) -> NDArray[np.void]:
    try:
        with path.open("rb") as stream:
            stat = os.fstat(stream.fileno())
            actual = stat.st_size
            if actual != size:
                message = f"window file {path} has {actual} bytes, not {size}; run deaps doctor"
                raise WindowFileError(message)
            view = mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise WindowFileError(f"window file {path} is missing; run deaps doctor") from None
    _verify(path, view, (str(path), stat.st_ino, stat.st_mtime_ns), sha256)
    return np.frombuffer(view, WINDOW, count=n_windows, offset=offset)


def _verify(path: Path, view: mmap.mmap, key: tuple[str, int, int], sha256: str | None) -> None:
    if sha256 is None or key in _VERIFIED:
        return
    if hashlib.sha256(view).hexdigest() != sha256:
        raise WindowFileError(
            f"window file {path} was changed: its SHA-256 differs; run deaps doctor --verify, "
            "which says what to do"
        )
    _VERIFIED.add(key)
