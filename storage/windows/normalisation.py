"""Normalisation of windows when they are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storage.config import Normalisation


@dataclass(frozen=True, slots=True)
class DatasetScaling:
    """From a recording's units to its data set's: ``value * gain[slot] + shift[slot]``."""

    gain: NDArray[np.float32]
    shift: NDArray[np.float32]


def pooled_moments(
    counts: NDArray[np.float64], means: NDArray[np.float64], stds: NDArray[np.float64]
) -> tuple[float, float]:
    """Return mean and population standard deviation of all samples of several groups.

    The pooled variance is the mean of the groups' variances plus the variance of their means,
    both weighted by the groups' sizes.
    """
    total = counts.sum()
    mean = float((counts * means).sum() / total)
    variance = (counts * (stds**2 + (means - mean) ** 2)).sum() / total
    return mean, float(np.sqrt(variance))


def dataset_scaling(
    datasets: NDArray[np.object_],
    counts: NDArray[np.float64],
    means: NDArray[np.float64],
    stds: NDArray[np.float64],
) -> DatasetScaling:
    """Return the scaling of each recording, all arguments by slot.

    A stored value z means ``z * std + mean`` millivolts; in the data set's units that is
    ``(z * std + mean - pooled mean) / pooled std``. Recordings without moments give NaN.
    """
    gain = np.full(len(datasets), np.nan, np.float32)
    shift = gain.copy()
    complete = np.isfinite(counts) & np.isfinite(means) & np.isfinite(stds)
    for dataset in set(datasets[complete]):
        members = complete & (datasets == dataset)
        mean, std = pooled_moments(counts[members], means[members], stds[members])
        inverse = 1 / std if std > 0 else 0.0
        gain[members] = stds[members] * inverse
        shift[members] = (means[members] - mean) * inverse
    return DatasetScaling(gain, shift)


def normalise_windows(
    windows: NDArray[np.float32],
    normalise: Normalisation,
    scaling: DatasetScaling,
    slots: NDArray[np.int64],
) -> None:
    """Normalise stored ``windows`` (n, 1000) in place."""
    if normalise == "dataset":
        windows *= scaling.gain[slots, None]
        windows += scaling.shift[slots, None]
    elif normalise == "window":
        standardise(windows)


def standardise(windows: NDArray[np.float32]) -> None:
    """Give each window zero mean and unit standard deviation; constant ones become zeros."""
    windows -= windows.mean(axis=1, keepdims=True)
    std = windows.std(axis=1, keepdims=True)
    constant = std[:, 0] == 0
    std[constant] = 1
    windows /= std
