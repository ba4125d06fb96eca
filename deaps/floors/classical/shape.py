"""The shape of the median beat, and how alike the beats of a window are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deaps.floors.classical.median_beat import BEFORE, FEWEST, cut_beats
from storage.schema import FS

SHAPE_NAMES = (
    "beat_likeness", "p_likeness", "qrs_likeness", "t_likeness", "beat_height", "r_part",
    "r_width", "qrs_area", "steepest_rise", "steepest_fall", "p_energy", "qrs_energy", "t_energy",
)  # fmt: skip

_PARTS = {
    "beat": slice(None),
    "p": slice(BEFORE - 26, BEFORE - 6),
    "qrs": slice(BEFORE - 6, BEFORE + 7),
    "t": slice(BEFORE + 10, BEFORE + 45),
}
"""Where the waves lie in a cut beat."""


def shape_features(window: NDArray[np.float64], beats: NDArray[np.int64]) -> dict[str, float]:
    """Return the features of a window's whole beats, three or more."""
    cut = cut_beats(window, beats)
    if len(cut) < FEWEST:
        return {}
    median = np.median(cut, axis=0)
    return _likeness(cut, median) | _measures(median) | _energies(median)


def _likeness(cut: NDArray[np.float64], median: NDArray[np.float64]) -> dict[str, float]:
    """Return the median correlation of the beats with the median beat, for each part."""
    return {
        f"{name}_likeness": float(np.median(_correlations(cut[:, part], median[part])))
        for name, part in _PARTS.items()
    }


def _measures(median: NDArray[np.float64]) -> dict[str, float]:
    """Return height, R's part of it, its width at half height, area under QRS and slopes."""
    level, peak = float(np.median(median)), float(median[BEFORE])
    slopes = np.diff(median) * FS
    height = float(np.ptp(median))
    qrs = median[_PARTS["qrs"]] - level
    return {
        "beat_height": height,
        "r_part": (peak - level) / height if height > 0 else float("nan"),
        "r_width": _width(median - (level + peak) / 2),
        "qrs_area": float(np.abs(qrs).sum()) / FS,
        "steepest_rise": float(slopes.max()),
        "steepest_fall": float(slopes.min()),
    }


def _width(over: NDArray[np.float64]) -> float:
    """Return how long, in s, a curve stays above 0 around the R peak."""
    below = np.flatnonzero(over <= 0)
    before, after = below[below < BEFORE], below[below > BEFORE]
    start = before[-1] if len(before) else -1
    end = after[0] if len(after) else len(over)
    return float(end - start - 1) / FS


def _energies(median: NDArray[np.float64]) -> dict[str, float]:
    squares = (median - np.median(median)) ** 2
    total = float(squares.sum())
    if total == 0:
        return {}
    return {f"{part}_energy": float(squares[_PARTS[part]].sum()) / total for part in _PARTS
            if part != "beat"}  # fmt: skip


def _correlations(rows: NDArray[np.float64], with_: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson's correlation of each row with one, 0 where one of them is constant."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    with_ = with_ - with_.mean()
    sizes = np.sqrt(np.sum(rows**2, axis=1) * np.sum(with_**2))
    return np.where(sizes > 0, rows @ with_ / np.where(sizes > 0, sizes, 1.0), 0.0)
