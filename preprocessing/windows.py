"""Clean and cut: source samples become the normalised 10 s windows that are stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocessing.config import SignalSettings
from preprocessing.filters import bridge_gaps, highpass, normalise, resample
from storage.schema import WINDOW_S, WINDOW_SAMPLES


@dataclass(frozen=True, slots=True)
class CleanWindows:
    """Windows of one signal, float16 (n, 1000) at 100 Hz, and what normalising took away.

    ``n_samples`` is the length at 100 Hz, with the remainder after the last whole window.
    """

    windows: NDArray[np.float16]
    n_samples: int
    mean: float
    std: float


def count_windows(n_samples: int, fs: float) -> int:
    """Return how many whole windows ``n_samples`` at ``fs`` Hz hold."""
    return int(n_samples / fs / WINDOW_S + 1e-9)


def clean_windows(signal: NDArray[np.float32], fs: float, settings: SignalSettings) -> CleanWindows:
    """Return the windows of ``signal``: bridge, resample, high-pass, normalise, cut."""
    filtered = highpass(
        resample(bridge_gaps(signal), fs),
        cutoff_hz=settings.highpass_hz,
        order=settings.highpass_order,
    )
    stored, mean, std = normalise(filtered)
    n_windows = min(count_windows(signal.size, fs), stored.size // WINDOW_SAMPLES)
    windows = stored[: n_windows * WINDOW_SAMPLES].reshape(n_windows, WINDOW_SAMPLES)
    return CleanWindows(windows, stored.size, mean, std)
