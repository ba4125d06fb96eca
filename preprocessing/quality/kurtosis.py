"""kSQI: the kurtosis of a window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def kurtosis(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kurtosis of each window, NaN where it is constant.

    Pearson's definition without bias correction: fourth central moment by squared variance,
    3 for a normal distribution, more where few samples (QRS complexes) stand out.

    Parameters
    ----------
    windows
        Shape (n, samples).
    """
    squares = np.square(windows - windows.mean(axis=1, keepdims=True))
    variance = squares.mean(axis=1)
    fourth = np.einsum("ij,ij->i", squares, squares) / windows.shape[1]
    result: NDArray[np.float64] = np.full_like(variance, np.nan)
    np.divide(fourth, variance**2, out=result, where=variance > 0)
    return result
