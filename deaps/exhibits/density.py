"""Densities of one-dimensional samples on a common grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GRID_POINTS = 100
_BINS_A_STEP = 10
_TAILS = 0.001
"""Share of values at either end that may lie outside the grid: one outlier would stretch it."""


def common_grid(*samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 100 points over the bulk of all samples, and three bandwidths beyond it."""
    ends = [np.quantile(sample, [_TAILS, 1 - _TAILS]) for sample in samples]
    margin = 3 * max(_bandwidth(sample) for sample in samples)
    low, high = min(end[0] for end in ends) - margin, max(end[1] for end in ends) + margin
    return np.linspace(low, high, GRID_POINTS)


def density(sample: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Gaussian kernel density of a sample at the points of an even grid.

    Bandwidth by Silverman's rule and at least a step of the grid. Values are counted in ten
    bins a step first, so that the time does not grow with the sample.
    """
    step = grid[1] - grid[0]
    width = max(_bandwidth(sample), step)
    bins = np.linspace(grid[0], grid[-1], _BINS_A_STEP * (len(grid) - 1) + 1)
    counts, edges = np.histogram(sample, bins)
    distance = (grid[:, np.newaxis] - (edges[:-1] + edges[1:]) / 2) / width
    kernel = np.exp(-0.5 * distance**2) / (width * np.sqrt(2 * np.pi))
    return np.asarray(kernel @ counts / len(sample))


def _bandwidth(sample: NDArray[np.float64]) -> float:
    low, high = np.quantile(sample, [0.25, 0.75])
    spread = min(float(sample.std()), float(high - low) / 1.349) or float(sample.std())
    return float(0.9 * spread * len(sample) ** -0.2)
