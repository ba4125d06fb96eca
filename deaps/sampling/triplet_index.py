"""Windows from which others are a given time away, found for the whole pool at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deaps.sampling.window_pool import WindowPool

_CHUNK = 1_000_000
"""Windows looked at together; some 50 MB while it lasts."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """Positions of windows by recording: those of r at ``offsets[r]`` to ``offsets[r + 1]``.

    ``positions`` is int32 (a pool of 2 ** 31 windows would be 680 years long), ``offsets``
    int64 (recordings + 1,).
    """

    positions: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of anchors of each recording."""
        return np.diff(self.offsets)

    def draw(self, rng: np.random.Generator, recordings: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position of one anchor of each recording, all with equal chance."""
        first, end = self.offsets[recordings], self.offsets[recordings + 1]
        return self.positions[rng.integers(first, end)].astype(np.int64)


def find_anchors(
    pool: WindowPool, steps: int, *, between: int = 0, apart: int | None = None
) -> Anchors:
    """Return the windows after which, exactly ``steps`` places on, there is another.

    Parameters
    ----------
    pool
        The usable windows.
    steps
        Time to the other window, in places of 10 s.
    between
        Least number of usable windows strictly between the two.
    apart
        If given, there must be a window of the same recording at least so many places before
        the first of the two, or after the second.
    """
    anchors, counts = [], []
    for first, last in _chunks(pool.offsets):
        good = _is_anchor(pool, first, last, steps, between)
        if apart is not None:
            good &= _has_distant(pool, first, last, steps, apart)
        bounds = pool.offsets[first : last + 1] - pool.offsets[first]
        total = np.append(0, np.cumsum(good))
        counts.append(np.diff(total[bounds]))
        anchors.append((np.flatnonzero(good) + pool.offsets[first]).astype(np.int32))
    return Anchors(np.concatenate(anchors), np.append(0, np.cumsum(np.concatenate(counts))))


def _chunks(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield runs of recordings, first and one past the last, of about `_CHUNK` windows."""
    first, n = 0, len(offsets) - 1
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + _CHUNK, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _is_anchor(
    pool: WindowPool, first: int, last: int, steps: int, between: int
) -> NDArray[np.bool_]:
    windows = slice(pool.offsets[first], pool.offsets[last])
    keys = np.repeat(np.arange(last - first) << 32, pool.n_windows[first:last])
    keys += pool.places[windows]
    other = np.searchsorted(keys, keys + steps)
    inside = np.minimum(other, len(keys) - 1)
    good: NDArray[np.bool_] = keys[inside] == keys + steps
    return good & (other - np.arange(len(keys)) > between)


def _has_distant(
    pool: WindowPool, first: int, last: int, steps: int, apart: int
) -> NDArray[np.bool_]:
    counts = pool.n_windows[first:last]
    places = pool.places[pool.offsets[first] : pool.offsets[last]]
    earliest = np.repeat(pool.places[pool.offsets[first:last]], counts)
    latest = np.repeat(pool.places[pool.offsets[first + 1 : last + 1] - 1], counts)
    good: NDArray[np.bool_] = (places - apart >= earliest) | (places + steps + apart <= latest)
    return good


def first_from(
    pool: WindowPool, recordings: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, for each recording, the position of its first window at ``places`` or later.

    That is the end of the recording's windows if there is none. A binary search in all
    recordings at once.
    """
    low, high = pool.offsets[recordings], pool.offsets[recordings + 1]
    while (searching := low < high).any():
        middle = (low + high) // 2
        # Where the search is over, middle may lie one past the last window of the pool.
        earlier = pool.places[np.minimum(middle, len(pool.places) - 1)] < places
        low = np.where(searching & earlier, middle + 1, low)
        high = np.where(searching & ~earlier, middle, high)
    return low
