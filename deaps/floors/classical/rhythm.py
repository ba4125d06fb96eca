"""Heart-rate variability as far as the ten or so beats of a window allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RHYTHM_NAMES = (
    "heart_rate", "nn_mean", "nn_median", "nn_min", "nn_max", "sdnn", "cvnn", "nn_iqr",
    "rmssd", "rmssd_share", "pnn50", "sd1", "sd2", "sd1_sd2", "nn_early", "nn_autocorrelation",
    "nn_turns", "cosen",
)  # fmt: skip

_MATCHES = 5
"""Least number of matching pairs that an entropy is estimated from."""

_FINEST_S = 0.01
"""Tolerance that the grid of the samples allows."""


def rhythm_features(intervals: NDArray[np.float64]) -> dict[str, float]:
    """Return the features of successive intervals between beats, in s.

    One interval gives a rate; spread takes two, their order four, entropy five.
    """
    if len(intervals) == 0:
        return {}
    features = _level(intervals)
    if len(intervals) >= 2:
        features |= _spread(intervals) | _succession(intervals)
    if len(intervals) >= 4:
        features |= _order(intervals)
    if len(intervals) >= 5:
        features["cosen"] = sample_entropy_coefficient(intervals)
    return features


def sample_entropy_coefficient(intervals: NDArray[np.float64]) -> float:
    """Return the coefficient of sample entropy, made to find AFib in very few beats.

    Lake & Moorman, 2011: pairs of neighbouring intervals (m = 1) match within a tolerance r,
    which is widened until five pairs do; -ln(A / B) + ln(2 r) - ln(mean interval).
    """
    first, second = intervals[:-1], intervals[1:]
    i, j = np.triu_indices(len(first), 1)
    step_distance = np.abs(first[i] - first[j])
    both = np.maximum(step_distance, np.abs(second[i] - second[j]))
    tolerance = max(float(np.sort(both)[_MATCHES - 1]), _FINEST_S)
    share = np.count_nonzero(both <= tolerance) / np.count_nonzero(step_distance <= tolerance)
    return float(-np.log(share) + np.log(2 * tolerance / intervals.mean()))


def _level(intervals: NDArray[np.float64]) -> dict[str, float]:
    return {
        "heart_rate": 60.0 / float(intervals.mean()),
        "nn_mean": float(intervals.mean()),
        "nn_median": float(np.median(intervals)),
        "nn_min": float(intervals.min()),
        "nn_max": float(intervals.max()),
    }


def _spread(intervals: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.percentile(intervals, [25, 75])
    deviation = float(intervals.std(ddof=1))
    return {
        "sdnn": deviation,
        "cvnn": deviation / float(intervals.mean()),
        "nn_iqr": float(high - low),
        "nn_early": float(np.mean(intervals < 0.85 * np.median(intervals))),
    }


def _succession(intervals: NDArray[np.float64]) -> dict[str, float]:
    """Return measures of neighbours' differences, among them the axes of the Poincare plot."""
    steps = np.diff(intervals)
    rmssd = float(np.sqrt(np.mean(steps**2)))
    sd1 = rmssd / np.sqrt(2)
    sd2 = float(np.sqrt(max(0.0, 2 * intervals.var(ddof=1) - sd1**2)))
    features = {
        "rmssd": rmssd,
        "rmssd_share": rmssd / float(intervals.mean()),
        "pnn50": float(np.mean(np.abs(steps) > 0.05)),
        "sd1": sd1,
        "sd2": sd2,
    }
    return features | ({"sd1_sd2": sd1 / sd2} if sd2 > 0 else {})


def _order(intervals: NDArray[np.float64]) -> dict[str, float]:
    steps = np.diff(intervals)
    features = {"nn_turns": float(np.mean(steps[:-1] * steps[1:] < 0))}
    before, after = intervals[:-1] - intervals[:-1].mean(), intervals[1:] - intervals[1:].mean()
    size = float(np.sqrt(np.sum(before**2) * np.sum(after**2)))
    return features | ({"nn_autocorrelation": float(before @ after) / size} if size > 0 else {})
