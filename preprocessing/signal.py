"""From source samples to a filtered, normalised 100 Hz signal."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from storage.schema import FS

_MAX_DENOMINATOR = 1000


def bridge_gaps(signal: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``signal`` with non-finite samples replaced by straight lines between neighbours.

    One NaN in a forward-backward filter would spoil the whole night. Without any finite sample
    the result is zero.
    """
    finite = np.isfinite(signal)
    if finite.all():
        return signal
    if not finite.any():
        return np.zeros_like(signal)
    bridged = signal.copy()
    gaps = np.flatnonzero(~finite)
    bridged[gaps] = np.interp(gaps, np.flatnonzero(finite), signal[finite])
    return bridged


def resample(signal: NDArray[np.float32], fs: float) -> NDArray[np.float32]:
    """Return ``signal`` at 100 Hz: polyphase, with an anti-alias filter.

    Beyond its ends the signal is taken to continue at its mean, so that an electrode's offset
    makes no step there.
    """
    from scipy.signal import resample_poly

    ratio = Fraction(FS / fs).limit_denominator(_MAX_DENOMINATOR)
    if ratio == 1:
        return signal
    resampled = resample_poly(signal, ratio.numerator, ratio.denominator, padtype="mean")
    return cast("NDArray[np.float32]", resampled)


def highpass(signal: NDArray[np.float32], *, cutoff_hz: float, order: int) -> NDArray[np.float64]:
    """Return ``signal`` without baseline wander: Butterworth, forward and backward, at 100 Hz.

    Double precision throughout: at 0.5 Hz the poles lie so near the unit circle that single
    precision drifts. A signal too short for scipy's padding is padded as far as it goes.
    """
    from scipy.signal import butter, sosfiltfilt

    sections = butter(order, cutoff_hz, "highpass", fs=FS, output="sos")
    # None is scipy's own choice, 3 times the filter's length, as NeuroKit2's cleaning has it.
    pad = None if signal.size > 3 * (2 * len(sections) + 1) else max(0, signal.size - 1)
    filtered = sosfiltfilt(sections, signal.astype(np.float64), padlen=pad)
    # sosfiltfilt returns a reversed view; torch and mmap writers want positive strides.
    return np.ascontiguousarray(filtered)


def normalise(signal: NDArray[np.float64]) -> tuple[NDArray[np.float16], float, float]:
    """Return the z-normalised signal as float16, with the mean and deviation that were removed.

    As |z| <= sqrt(n), no recording can overflow float16. A constant signal becomes zero.
    """
    mean, std = float(signal.mean()), float(signal.std())
    if std == 0.0:
        return np.zeros(signal.shape, np.float16), mean, std
    return ((signal - mean) / std).astype(np.float16), mean, std
