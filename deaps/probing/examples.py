"""What a classifier is given: examples, the windows behind them, and who they come from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Strings = NDArray[np.str_]
Integers = NDArray[np.integer]


_ROW_STEP = np.uint64(0x9E3779B97F4A7C15)
"""An odd number with bits all over: rows of one recording get keys far apart."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows in the store, each (m,).

    ``recording_id`` is a number in one index, by which windows are read; an index that is built
    anew may give it to another recording. ``content`` is the beginning of the recording's digest,
    which stays: whatever is kept on disk knows windows by it.
    """

    recording_id: NDArray[np.int32]
    row: NDArray[np.int32]
    content: NDArray[np.uint64]

    @property
    def key(self) -> NDArray[np.uint64]:
        """One number for each window, of its recording's content and its row."""
        return self.content + self.row.astype(np.uint64) * _ROW_STEP

    def digest(self) -> str:
        """Return a digest of all windows, whatever their order and their recordings' numbers."""
        return hashlib.sha256(np.sort(self.key).astype("<u8").tobytes()).hexdigest()

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Windows:
        """Return some of the windows."""
        return Windows(self.recording_id[places], self.row[places], self.content[places])

    @classmethod
    def joined(cls, parts: Sequence[Windows]) -> Windows:
        """Return the windows of several, one after the other."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("recording_id", "row", "content")
            )
        )

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples of a benchmark, each array (n,) unless its comment gives another shape.

    An example is a window, or a recording whose windows' features are averaged.
    """

    labels: NDArray[np.int8]
    """Position in the benchmark's classes."""
    subjects: Strings
    """Who it comes from; a subject must stand on one side of a split only."""
    contents: Strings
    """Digest of the recording's signal; equal ones are the same recording."""
    sides: Strings
    """``train`` or ``test`` where the data sets say so, else empty."""
    windows: Windows
    """All windows, (m,) with m >= n."""
    owner: NDArray[np.int64]
    """Example that each window belongs to, (m,), ascending."""

    def __len__(self) -> int:
        return len(self.labels)

    def keep(self, kept: NDArray[np.bool_]) -> Examples:
        """Return the examples where ``kept``, (n,), is true."""
        windows = kept[self.owner]
        renumbered = np.cumsum(kept) - 1
        return Examples(
            self.labels[kept],
            self.subjects[kept],
            self.contents[kept],
            self.sides[kept],
            self.windows.at(windows),
            renumbered[self.owner[windows]],
        )


def average_windows(
    features: NDArray[np.floating], owner: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return each example's mean, (n, d), of its windows' features, (m, d).

    Unknown values (NaN) are left out of the mean; where all are unknown, so is the mean.
    """
    finite = np.isfinite(features)
    counts = np.bincount(owner)
    if len(counts) == len(owner):  # a window each: the sums below would take longer
        return np.where(finite, features, np.nan).astype(np.float64)
    starts = np.cumsum(counts) - counts
    sums = np.add.reduceat(np.where(finite, features, 0).astype(np.float64), starts, axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / np.add.reduceat(finite.astype(np.int64), starts, axis=0))


@dataclass(frozen=True, slots=True)
class Fold:
    """One split of examples: positions of those fitted on and those tested."""

    name: str
    train: NDArray[np.int64]
    test: NDArray[np.int64]
