"""What a classifier is given: examples, the windows behind them, and who they come from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Strings = NDArray[np.str_]
Integers = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows in the store, each (m,)."""

    recording_id: NDArray[np.int32]
    row: NDArray[np.int32]

    @property
    def key(self) -> NDArray[np.int64]:
        """One number for each window, in the order of recording and row."""
        return (self.recording_id.astype(np.int64) << 32) | self.row

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Windows:
        """Return some of the windows."""
        return Windows(self.recording_id[places], self.row[places])

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
