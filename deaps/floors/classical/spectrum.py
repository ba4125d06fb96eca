"""Spectrum and distribution of a window's samples, which need no beats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from storage.schema import FS

_BANDS_HZ = {
    "power_1_4": (1.0, 4.0),
    "power_4_9": (4.0, 9.0),
    "power_9_15": (9.0, 15.0),
    "power_15_25": (15.0, 25.0),
    "power_25_45": (25.0, 45.0),
}

SPECTRUM_NAMES = (*_BANDS_HZ, "deviation", "skewness", "kurtosis")


def spectrum_features(window: NDArray[np.float64]) -> dict[str, float]:
    """Return bands' shares of the power, and the moments of a window that is not constant."""
    hz, spectrum = power(window)
    total = float(spectrum.sum())
    shares = {name: within(hz, spectrum, band) / total for name, band in _BANDS_HZ.items()}
    deviation = float(window.std())
    z = (window - window.mean()) / deviation
    return shares | {
        "deviation": deviation,
        "skewness": float(np.mean(z**3)),
        "kurtosis": float(np.mean(z**4)),
    }


def power(signal: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return frequencies in Hz and the power at each, of a signal tapered at its ends."""
    tapered = (signal - signal.mean()) * np.hanning(len(signal))
    hz = np.fft.rfftfreq(len(signal), 1 / FS).astype(np.float64)
    return hz, np.square(np.abs(np.fft.rfft(tapered)))


def within(
    hz: NDArray[np.float64], spectrum: NDArray[np.float64], band: tuple[float, float]
) -> float:
    """Return the power in a band, its upper end excluded."""
    return float(spectrum[(hz >= band[0]) & (hz < band[1])].sum())
