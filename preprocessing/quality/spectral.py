"""pSQI and basSQI: shares of the power spectrum, for many windows at once.

The spectrum is the one that ``neurokit2.ecg_quality`` (0.2.13) takes of a 10 s window at 100 Hz,
written anew for batches: Welch's mean over half-overlapping periodic Hann segments of half a
window, each padded to a whole window, after the window's mean is taken off. Three of its habits
are kept, so that the classes are equal:

- bins below 0.4 Hz (four cycles per window) are left out, so "0-1 Hz" is 0.4-0.9 Hz;
- a band holds its lower limit and not its upper one;
- power is the trapezoid over the band's bins, which weighs the two outer bins by half.
"""

from __future__ import annotations

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from storage.schema import FS, WINDOW_SAMPLES

SEGMENT = WINDOW_SAMPLES // 2
"""Length of a Welch segment, in samples."""

BINS_PER_HZ = WINDOW_SAMPLES // FS

LOWEST_BIN = 4
"""First bin used: 0.4 Hz."""

QRS_BAND_HZ = (5, 15)
ECG_BAND_HZ = (5, 40)
BASELINE_BAND_HZ = (0, 1)
WHOLE_BAND_HZ = (0, 40)

_PHASE = 2 * np.pi * np.arange(SEGMENT) / SEGMENT
_HANN: NDArray[np.float64] = 0.5 - 0.5 * np.cos(_PHASE)


def spectral_indices(windows: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Compute pSQI and basSQI of each window, NaN where a window is constant.

    Parameters
    ----------
    windows
        Shape (n, 1000), at 100 Hz, in any unit.

    Returns
    -------
    tuple of arrays
        pSQI = P(5-15 Hz) / P(5-40 Hz) and basSQI = 1 - P(0-1 Hz) / P(0-40 Hz), each of
        shape (n,) and between 0 and 1.
    """
    power = _welch(windows)
    psqi = _ratio(_band_power(power, QRS_BAND_HZ), _band_power(power, ECG_BAND_HZ))
    baseline = _ratio(_band_power(power, BASELINE_BAND_HZ), _band_power(power, WHOLE_BAND_HZ))
    return psqi, 1 - baseline


def _welch(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Power in bins 0 to 399 up to a common factor, shape (n, 400, 2), the last axis to be summed.

    The factor (sampling rate, window energy, one-sidedness) is left out: only ratios are used.
    Real and imaginary squares stay apart because adding them here costs a pass over the data.
    """
    centred = windows - windows.mean(axis=1, keepdims=True)
    hops = np.lib.stride_tricks.sliding_window_view(centred, SEGMENT, axis=1)[:, :: SEGMENT // 2]
    spectrum = scipy.fft.rfft(hops * _HANN, WINDOW_SAMPLES, axis=2, overwrite_x=True)
    parts = spectrum.view(np.float64)[:, :, : 2 * WHOLE_BAND_HZ[1] * BINS_PER_HZ]
    power: NDArray[np.float64] = np.einsum("wsk,wsk->wk", parts, parts)
    return power.reshape(*power.shape[:-1], power.shape[-1] // 2, 2)


def _band_power(power: NDArray[np.float64], band_hz: tuple[int, int]) -> NDArray[np.float64]:
    """Trapezoid over the bins of one band, shape (n,)."""
    first = max(band_hz[0] * BINS_PER_HZ, LOWEST_BIN)
    bins = power[:, first : band_hz[1] * BINS_PER_HZ]
    outer = bins[:, [0, -1]].sum(axis=(1, 2))
    area: NDArray[np.float64] = bins.sum(axis=(1, 2)) - outer / 2
    return area


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """``part / whole``, NaN where there is no power at all."""
    ratio: NDArray[np.float64] = np.full_like(part, np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio
