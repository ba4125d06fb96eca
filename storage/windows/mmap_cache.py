"""Memory maps of many files, no more open at a time than the system allows."""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
from collections import OrderedDict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from storage.errors import DeapsError
from storage.schema import WINDOW_SAMPLES

WINDOW = np.dtype(f"V{2 * WINDOW_SAMPLES}")
"""A window as an opaque item: blocks often start at an odd byte, which float16 cannot."""

_DESCRIPTORS_LEFT_FOR_OTHERS = 256
_MOST_MAPS = 32_000  # the kernel allows 65,530 maps to a process, libraries among them


def raise_descriptor_limit() -> int:
    """Raise this process's soft limit of open files to its hard limit; return what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return _MOST_MAPS if hard == resource.RLIM_INFINITY else hard


class MapCache:
    """Mapped signal blocks by key, least recently used ones closed beyond ``cap``.

    A block handed out stays valid after it has left the cache. Threads may share a cache and a
    process may fork at any time: each step is one operation of an `OrderedDict`, which the
    interpreter does not interrupt, so there is no lock that a child could inherit closed. A
    pickled cache starts empty.
    """

    def __init__(self, cap: int | None = None) -> None:
        limit = raise_descriptor_limit() - _DESCRIPTORS_LEFT_FOR_OTHERS
        self.cap = max(1, min(limit, _MOST_MAPS) if cap is None else cap)
        self._blocks: OrderedDict[int, NDArray[np.void]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._blocks)

    def __reduce__(self) -> tuple[type[MapCache], tuple[int]]:
        return MapCache, (self.cap,)

    def get(self, key: int) -> NDArray[np.void] | None:
        """Return the block of ``key`` if it is mapped."""
        block = self._blocks.get(key)
        if block is not None:
            with contextlib.suppress(KeyError):  # another thread may just have dropped it
                self._blocks.move_to_end(key)
        return block

    def put(self, key: int, block: NDArray[np.void]) -> None:
        """Keep ``block``, dropping the least recently used ones beyond the cap."""
        self._blocks[key] = block
        while len(self._blocks) > self.cap:
            with contextlib.suppress(KeyError):
                self._blocks.popitem(last=False)


def map_windows(path: Path, *, size: int, offset: int, n_windows: int) -> NDArray[np.void]:
    """Return the windows of a file as (n_windows,) opaque items of 2000 bytes, nothing read yet.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file is missing or is not ``size`` bytes long.
    """
    try:
        with path.open("rb") as stream:
            found = os.fstat(stream.fileno()).st_size
            if found != size:
                message = f"window file {path} has {found} bytes, not {size}; run deaps doctor"
                raise DeapsError(message)
            view = mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise FileNotFoundError(f"window file {path} is missing; run deaps doctor") from None
    return np.frombuffer(view, WINDOW, count=n_windows, offset=offset)
