"""Strips of many windows in few bytes: thinned, one signed byte a sample, base64."""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

_LARGEST = 127
LIMIT = 12.0
"""Standard deviations beyond which a strip is cut off; one artefact would flatten all others."""


def thin(windows: NDArray[np.float32], samples: int) -> NDArray[np.float32]:
    """Return windows, (n, m), with ``samples`` samples each; m must be a multiple of it.

    Of every m / samples neighbours the one that lies farthest from the mean around it stays:
    a filter before decimation would halve the R peaks, and every second would miss some.
    """
    n, length = windows.shape
    if samples < 1 or length % samples:
        raise ValueError(f"samples is {samples}; allowed are divisors of {length}")
    factor = length // samples
    around = uniform_filter1d(windows, 3 * factor, axis=1, mode="nearest")
    buckets = windows.reshape(n, samples, factor)
    distance = np.abs(windows - around).reshape(buckets.shape)
    kept = distance.argmax(axis=2)[:, :, np.newaxis]
    return np.asarray(np.take_along_axis(buckets, kept, axis=2)[:, :, 0])


def pack(strips: NDArray[np.float32]) -> tuple[str, float]:
    """Return strips as signed bytes in base64, and the value of one unit."""
    cut = np.clip(strips, -LIMIT, LIMIT).astype(np.float64)
    scale = float(np.abs(cut).max(initial=0.0)) / _LARGEST or 1.0
    return base64.b64encode(np.rint(cut / scale).astype(np.int8).tobytes()).decode(), scale


def unpack(packed: str, scale: float, samples: int) -> NDArray[np.float64]:
    """Return the strips of `pack`, (n, samples), within half a unit."""
    units = np.frombuffer(base64.b64decode(packed), np.int8).reshape(-1, samples)
    return units.astype(np.float64) * scale
