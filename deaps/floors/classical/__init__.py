"""Classical features of windows: the floor that a learned representation must beat.

Heart-rate variability as far as 10 s allow, waves by NeuroKit2, the shape of the median beat,
the activity of the atria between beats, and the spectrum. Times are in s, rates per minute,
amplitudes in the units of the window.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deaps.floors.classical.atria import ATRIAL_NAMES, atrial_features
from deaps.floors.classical.beats import beat_times, delineate, find_beats
from deaps.floors.classical.rhythm import RHYTHM_NAMES, rhythm_features
from deaps.floors.classical.shape import SHAPE_NAMES, shape_features
from deaps.floors.classical.spectrum import SPECTRUM_NAMES, spectrum_features
from deaps.floors.classical.waves import WAVE_NAMES, wave_features
from storage.schema import WINDOW_SAMPLES

FEATURE_NAMES: tuple[str, ...] = (
    *RHYTHM_NAMES,
    *WAVE_NAMES,
    *SHAPE_NAMES,
    *ATRIAL_NAMES,
    *SPECTRUM_NAMES,
)
"""Name of each column of `classical_features`."""


def classical_features(windows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the classical features of windows, (n, 1000) to (n, features), one at a time.

    NaN stands for what cannot be measured: everything of a window that is constant or not finite,
    variability of fewer than three beats, waves that NeuroKit2 does not find. An
    inverted signal is not turned over.
    """
    if windows.ndim != 2 or windows.shape[1] != WINDOW_SAMPLES:
        raise ValueError(f"windows have the shape {windows.shape}; expected (n, {WINDOW_SAMPLES})")
    out = np.full((len(windows), len(FEATURE_NAMES)), np.nan, np.float32)
    for row, window in zip(out, windows, strict=True):
        features = window_features(window.astype(np.float64))
        row[:] = [features.get(name, np.nan) for name in FEATURE_NAMES]
    return out


def window_features(window: NDArray[np.float64]) -> dict[str, float]:
    """Return by name the features of one window, (1000,), that can be measured."""
    if not np.isfinite(window).all() or np.ptp(window) == 0:
        return {}
    beats = find_beats(window)
    intervals = np.diff(beat_times(window, beats))
    return (
        rhythm_features(intervals)
        | wave_features(window, beats, delineate(window, beats))
        | shape_features(window, beats)
        | atrial_features(window, beats)
        | spectrum_features(window)
    )
