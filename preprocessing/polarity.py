"""Polarity of a lead: whether its QRS complexes point up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def polarity_score(windows: NDArray[np.float32]) -> float:
    """Return a score in [-1, 1]: above 0 the tallest deflections point up, below 0 down.

    The median over the windows of (peak - trough) / (peak + trough), both as distances from
    zero; windows are filtered, so zero is the isoelectric line. ``windows`` is (n, 1000).
    """
    if len(windows) == 0:
        return 0.0
    peak = np.maximum(windows.max(axis=1), 0)
    trough = np.maximum(-windows.min(axis=1), 0)
    height = peak + trough
    scores = np.divide(peak - trough, height, out=np.zeros_like(height), where=height > 0)
    return float(np.median(scores))
