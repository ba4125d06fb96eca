"""From source samples to a filtered, normalised 100 Hz signal."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from storage.schema import FS

_MAX_DENOMINATOR = 4000
_MAX_DRIFT_S = 1e-3
"""What a window may be off, in seconds, before times are corrected: a tenth of a sample."""

_SINC_TAPS, _SINC_PHASES, _SINC_BLOCK = 32, 2048, 1 << 16


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
    makes no step there. A rate that is no small fraction of 100 Hz (199.975 Hz) is resampled by
    the nearest one, and what that would drift, 10 s in a day, is corrected.
    """
    from scipy.signal import resample_poly

    ratio = Fraction(FS / fs).limit_denominator(_MAX_DENOMINATOR)
    resampled = signal
    if ratio != 1:
        resampled = resample_poly(signal, ratio.numerator, ratio.denominator, padtype="mean")
    stretch = float(ratio * Fraction(fs) / FS)  # samples made for each sample at 100 Hz
    if abs(stretch - 1) * resampled.size / FS > _MAX_DRIFT_S:
        resampled = _at_times(resampled, stretch, n_samples=ceil(signal.size * FS / fs - 1e-6))
    return resampled


def _at_times(signal: NDArray[np.float32], step: float, *, n_samples: int) -> NDArray[np.float32]:
    """Return ``signal`` at the places 0, step, 2 step, ...: a windowed sinc of 32 samples.

    ``step`` is nearly 1, so no anti-alias filter is needed.
    """
    half = _SINC_TAPS // 2
    phases = np.arange(_SINC_PHASES + 1)[:, None] / _SINC_PHASES
    distance = np.arange(_SINC_TAPS) - (half - 1) - phases
    taps = np.sinc(distance) * np.i0(9.0 * np.sqrt(np.clip(1 - (distance / half) ** 2, 0, 1)))
    taps = (taps / taps.sum(axis=1, keepdims=True)).astype(np.float32)
    mean = np.float32(signal.mean())
    padded = np.pad(signal - mean, (half - 1, half + 1))
    reach = np.lib.stride_tricks.sliding_window_view(padded, _SINC_TAPS)
    out = np.empty(n_samples, np.float32)
    for start in range(0, n_samples, _SINC_BLOCK):
        places = np.arange(start, min(start + _SINC_BLOCK, n_samples)) * step
        places = np.minimum(places, signal.size - 1)
        whole = places.astype(np.int64)
        phase = np.rint((places - whole) * _SINC_PHASES).astype(np.int64)
        out[start : start + len(places)] = np.einsum("ij,ij->i", reach[whole], taps[phase])
    return out + mean


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
