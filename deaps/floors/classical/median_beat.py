"""The median beat of a window, and what is left of the window without it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BEFORE, AFTER = 30, 45
"""Samples of a beat before and after its R peak: 0.3 s and 0.45 s hold P, QRS and most of T."""

FEWEST = 3
"""Whole beats that a median is taken of."""


def cut_beats(window: NDArray[np.float64], beats: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the beats that lie in the window as a whole, (beats, 75)."""
    whole = beats[(beats >= BEFORE) & (beats + AFTER <= len(window))]
    return window[whole[:, np.newaxis] + np.arange(-BEFORE, AFTER)]


def without_beats(
    window: NDArray[np.float64], beats: NDArray[np.int64], median: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the window less the median beat at each beat, up to where the next one begins."""
    samples = np.arange(len(window))
    owner = np.searchsorted(beats - BEFORE, samples, side="right") - 1
    place = samples - beats[np.maximum(owner, 0)] + BEFORE
    covered = (owner >= 0) & (place >= 0) & (place < len(median))
    return window - np.where(covered, median[np.where(covered, place, 0)], 0.0)
