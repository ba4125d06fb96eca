"""From source samples to a filtered, normalised 100 Hz signal."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from storage.schema import FS

_MAX_DENOMINATOR = 4000


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

    This is the arithmetic of scipy's ``sosfiltfilt``, which NeuroKit2's cleaning uses, with both
    ends extended by their odd reflection. It is written out because that function holds four
    copies of a night at once, and this one two. Double precision throughout: at 0.5 Hz the poles
    lie so near the unit circle that single precision drifts.
    """
    from scipy.signal import sosfilt

    sections, settled = _butterworth(order, cutoff_hz)
    pad = min(_padding(sections), signal.size - 1)
    extended = _odd_extension(signal, pad)
    forward, _ = sosfilt(sections, extended, zi=settled * extended[0])
    del extended
    backward, _ = sosfilt(sections, forward[::-1], zi=settled * forward[-1])
    del forward
    # Contiguous, because torch and writers of memory maps refuse negative strides.
    return np.ascontiguousarray(backward[::-1][pad : pad + signal.size])


@lru_cache
def _butterworth(order: int, cutoff_hz: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the high-pass as second-order sections, and their state after a long constant."""
    from scipy.signal import butter, sosfilt_zi

    sections = butter(order, cutoff_hz, "highpass", fs=FS, output="sos")
    return sections, sosfilt_zi(sections)


def _padding(sections: NDArray[np.float64]) -> int:
    """Return scipy's choice of padding: three times the filter's length."""
    unused = min((sections[:, 2] == 0).sum(), (sections[:, 5] == 0).sum())
    return 3 * int(2 * len(sections) + 1 - unused)


def _odd_extension(signal: NDArray[np.float32], pad: int) -> NDArray[np.float64]:
    extended = np.empty(signal.size + 2 * pad)
    extended[pad : pad + signal.size] = signal
    if pad:
        extended[:pad] = 2.0 * signal[0] - signal[pad:0:-1]
        extended[-pad:] = 2.0 * signal[-1] - signal[-2 : -pad - 2 : -1]
    return extended


def normalise(signal: NDArray[np.float64]) -> tuple[NDArray[np.float16], float, float]:
    """Return the z-normalised signal as float16, with the mean and deviation that were removed.

    As |z| <= sqrt(n), no recording can overflow float16. A constant signal becomes zero.
    ``signal`` is overwritten, which spares a copy of a whole night.
    """
    mean, std = float(signal.mean()), float(signal.std())
    if std == 0.0:
        return np.zeros(signal.shape, np.float16), mean, std
    signal -= mean
    signal /= std
    return signal.astype(np.float16), mean, std
