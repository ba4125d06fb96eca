"""What the atria do between beats: the window without its median beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from deaps.floors.classical.median_beat import FEWEST, cut_beats, without_beats
from deaps.floors.classical.spectrum import power, within

ATRIAL_NAMES = ("rest_share", "f_level", "f_share", "f_peak_hz", "f_concentration")

_F_WAVES_HZ = (4.0, 9.0)
"""Rates of fibrillatory waves."""

_SEARCH_HZ = (3.0, 12.0)
_NEAR_HZ = 0.5


def atrial_features(window: NDArray[np.float64], beats: NDArray[np.int64]) -> dict[str, float]:
    """Return the features of a window without its beats, for three whole beats or more.

    Its share of the variance; the size of f waves against the beat's height and their share of
    the rest's power; the strongest rate from 3 to 12 Hz, and the share of power within 0.5 Hz.
    """
    cut = cut_beats(window, beats)
    if len(cut) < FEWEST:
        return {}
    median = np.median(cut, axis=0)
    rest = without_beats(window, beats, median)
    hz, spectrum = power(rest)
    total, height = float(spectrum.sum()), float(np.ptp(median))
    if total == 0 or height == 0:
        return {}
    waves = within(hz, spectrum, _F_WAVES_HZ)
    return {
        "rest_share": float(rest.var() / window.var()),
        "f_level": float(np.sqrt(waves * rest.var() / total)) / height,
        "f_share": waves / total,
    } | _strongest(hz, spectrum)


def _strongest(hz: NDArray[np.float64], spectrum: NDArray[np.float64]) -> dict[str, float]:
    searched = within(hz, spectrum, _SEARCH_HZ)
    if searched == 0:
        return {}
    inside = (hz >= _SEARCH_HZ[0]) & (hz <= _SEARCH_HZ[1])
    # Half a hertz to either side: the rate of f waves wanders within 10 s.
    width = round(2 * _NEAR_HZ / (hz[1] - hz[0])) + 1
    smooth = np.convolve(np.where(inside, spectrum, 0.0), np.ones(width), mode="same")
    best = int(np.argmax(np.where(inside, smooth, -1.0)))
    return {"f_peak_hz": float(hz[best]), "f_concentration": float(smooth[best]) / searched}
