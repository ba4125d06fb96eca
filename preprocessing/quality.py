"""Quality of each window: four indices, each graded, then fused into one class.

The scheme is that of Zhao and Zhang (2018), Front. Physiol. 9:727, with the repairs that the
comments name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import scipy.fft
from numpy.typing import NDArray

from preprocessing.beats import (
    away_from_edges,
    beat_correlation,
    find_gradient_beats,
    find_pan_tompkins_beats,
    highest_rate,
    mean_rate,
    merge_beats,
    partners,
    smooth_slope,
)
from storage.schema import FS, WINDOW_S, WINDOW_SAMPLES, Quality, QualityFault, RPeaks

BLOCK = 128
"""Windows worked on at once: 1 MB per array of 64-bit samples, whatever the recording's length."""
NO_FAULT = np.int8(-1)
"""Code of the fault of an Excellent window."""
FAST_RATE = 130.0
"""From this highest heart rate on, in beats/min, pSQI has its other limits."""
PSQI_LIMITS = (0.4, 0.5, 0.8)
"""pSQI is suspicious between the first two, optimal between the last two."""
PSQI_LIMITS_FAST = (0.3, 0.4, 0.7)
"""`PSQI_LIMITS` for fast hearts, whose QRS complexes hold less of the power."""
KSQI_OPTIMAL_ABOVE = 5.0
"""kSQI is optimal above, else unqualified."""
BASSQI_LIMITS = (0.9, 0.95)
"""basSQI is suspicious from the first on, optimal from the second on."""
QSQI_LIMITS = (0.6, 0.9)
"""qSQI is suspicious from the first on, optimal above the second."""
REPEATING = 0.95
"""Beats repeat from this `beat_correlation` on: clean made ECG has 0.99 and more, noise at most
0.91."""
Grades = NDArray[np.int8]
Indices = NDArray[np.intp]
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


@dataclass(frozen=True, slots=True)
class QualityScores:
    """Quality of n windows; every array has shape (n,).

    ``psqi``, ``ksqi`` and ``bassqi`` are NaN for a constant window. ``hr_max`` is the highest
    heart rate in beats/min, NaN with fewer than two beats; ``hr_mean`` and ``hr_sd`` are as
    `mean_rate` has them. ``quality4`` is the published class of four indices, ``quality3`` that of
    the first three; ``quality`` is the former with the repair that `score_windows` names. All are
    positions in ``tuple(storage.schema.Quality)``; they come from the unrounded indices.
    ``quality_reason`` is a position in ``tuple(QualityFault)``, -1 where the window is Excellent;
    ``reason_value`` and ``reason_limit`` are that index and the limit it missed.
    """

    psqi: NDArray[np.float32]
    ksqi: NDArray[np.float32]
    bassqi: NDArray[np.float32]
    qsqi: NDArray[np.float32]
    hr_max: NDArray[np.float32]
    hr_mean: NDArray[np.float32]
    hr_sd: NDArray[np.float32]
    quality: NDArray[np.int8]
    quality4: NDArray[np.int8]
    quality3: NDArray[np.int8]
    quality_reason: NDArray[np.int8]
    reason_value: NDArray[np.float32]
    reason_limit: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Measured:
    """Measurements of some windows, each by itself, in full precision.

    ``beats`` are sample indices from the start of the first window, ``slope`` is (n, 1000).
    """

    psqi: NDArray[np.float64]
    ksqi: NDArray[np.float64]
    bassqi: NDArray[np.float64]
    hr_max: NDArray[np.float64]
    beats: NDArray[np.intp]
    slope: NDArray[np.float32]


def score_windows(
    windows: NDArray[np.float32] | NDArray[np.float16], *, beat_tolerance_s: float = 0.15
) -> tuple[QualityScores, RPeaks]:
    """Zhao & Zhang indices and classes of each window of one recording, and its R peaks.

    The three-index class equals that of ``neurokit2.ecg_quality(method="zhao2018")``. It rejects
    slow hearts, whose fundamental it takes for baseline wander. The class of four indices, which
    Zhao and Zhang published, does so less, but still rejects clean windows of wide complexes, tall
    T waves and bigeminy at some rates. So ours deviates from it in one point: a window whose beats
    repeat (`beat_correlation`) is Barely acceptable at worst.

    Parameters
    ----------
    windows
        Shape (n, 1000): consecutive 10 s windows at 100 Hz, high-pass filtered, finite, in any
        unit (nothing here depends on the scale).
    beat_tolerance_s
        Two detectors agree on a beat when they place it within this time.
    """
    if windows.ndim != 2 or windows.shape[1] != WINDOW_SAMPLES:
        msg = f"windows have shape {windows.shape}, expected (n, {WINDOW_SAMPLES})"
        raise ValueError(msg)
    blocks = [
        _measure_block(windows[start : start + BLOCK], start * WINDOW_SAMPLES)
        # At least one block, so that no windows give empty arrays.
        for start in range(0, max(len(windows), 1), BLOCK)
    ]
    measured = _Measured(
        **{
            name: np.concatenate([getattr(block, name) for block in blocks])
            for name in _Measured.__slots__
        }
    )
    others = find_pan_tompkins_beats(windows)
    tolerance = round(beat_tolerance_s * FS)
    qsqi = agreement(measured.beats, others, len(windows), tolerance=tolerance)
    peaks = merge_beats(windows, measured.slope, measured.beats, others)
    time_s = np.float64(WINDOW_S) * peaks.row + peaks.offset_s
    scores = _scores(measured, qsqi, mean_rate(peaks.row, time_s, len(windows)))
    rejected = scores.quality4 == _CODE[Quality.UNACCEPTABLE]
    repeats = rejected & (beat_correlation(windows, peaks, rejected) >= REPEATING)
    kept = np.where(repeats, _CODE[Quality.BARELY_ACCEPTABLE], scores.quality4)
    return replace(scores, quality=kept), peaks


def _measure_block(windows: NDArray[np.floating], offset: int) -> _Measured:
    """Measure a few windows, the first of which begins at sample ``offset``."""
    # In 64 bits the sum of 1000 equal 32-bit samples is exact, so that a constant window less its
    # mean is zero, not rounding noise with a kurtosis and a spectrum.
    signal = windows.astype(np.float64, order="C")
    psqi, bassqi = spectral_indices(signal)
    slope = smooth_slope(signal)
    beats = find_gradient_beats(signal, slope)
    return _Measured(
        psqi=psqi,
        ksqi=kurtosis(signal),
        bassqi=bassqi,
        hr_max=highest_rate(beats, len(signal)),
        beats=beats + offset,
        slope=slope.astype(np.float32),
    )


def _scores(
    measured: _Measured,
    qsqi: NDArray[np.float64],
    rates: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> QualityScores:
    """Return classes, indices and reasons, in the types that are stored."""
    grades = (
        grade_psqi(measured.psqi, measured.hr_max),
        grade_ksqi(measured.ksqi),
        grade_bassqi(measured.bassqi),
        grade_qsqi(qsqi),
    )
    hr_mean, hr_sd = rates
    quality = fuse_four(*grades)
    reason, value, limit = _reasons(measured, qsqi, grades, quality)
    return QualityScores(
        psqi=measured.psqi.astype(np.float32),
        ksqi=measured.ksqi.astype(np.float32),
        bassqi=measured.bassqi.astype(np.float32),
        qsqi=qsqi.astype(np.float32),
        hr_max=measured.hr_max.astype(np.float32),
        hr_mean=hr_mean.astype(np.float32),
        hr_sd=hr_sd.astype(np.float32),
        quality=quality,
        quality4=quality,
        quality3=fuse_three(*grades[:3]),
        quality_reason=reason,
        reason_value=value.astype(np.float32),
        reason_limit=limit.astype(np.float32),
    )


def _reasons(
    measured: _Measured,
    qsqi: NDArray[np.float64],
    grades: tuple[Grades, ...],
    quality: NDArray[np.int8],
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64]]:
    """Return for each window that is not Excellent which index missed which limit, and both values.

    Of several indices the one with the lowest grade; of equal ones qSQI, then basSQI, kSQI, pSQI.
    The limit is the one between its grade and the next.
    """
    fast = measured.hr_max >= FAST_RATE
    low, middle, high = (
        np.where(fast, quick, usual)
        for quick, usual in zip(PSQI_LIMITS_FAST, PSQI_LIMITS, strict=True)
    )
    too_high = measured.psqi >= high
    suspicious = [grade == Grade.SUSPICIOUS for grade in grades]
    index = {
        QualityFault.QSQI_LOW: (qsqi, np.where(suspicious[3], *QSQI_LIMITS[::-1]), grades[3]),
        QualityFault.BASSQI_LOW: (
            measured.bassqi, np.where(suspicious[2], *BASSQI_LIMITS[::-1]), grades[2],
        ),
        QualityFault.KSQI_LOW: (
            measured.ksqi, np.full_like(qsqi, KSQI_OPTIMAL_ABOVE), grades[1],
        ),
        QualityFault.PSQI_LOW: (
            measured.psqi,
            np.where(too_high, high, np.where(suspicious[0], middle, low)),
            grades[0],
        ),
    }  # fmt: skip
    worst = np.argmin([grade for _, _, grade in index.values()], axis=0)  # the first of equals
    code = np.array([_FAULT_CODE[fault] for fault in index], np.int8)[worst]
    code = np.where((code == _FAULT_CODE[QualityFault.PSQI_LOW]) & too_high, _TOO_HIGH, code)
    places = np.arange(len(qsqi))
    value, limit = (np.stack([each[k] for each in index.values()])[worst, places] for k in (0, 1))
    excellent = quality == _CODE[Quality.EXCELLENT]
    return (
        np.where(excellent, NO_FAULT, code),
        np.where(excellent, np.nan, value),
        np.where(excellent, np.nan, limit),
    )


_FAULT_CODE = {fault: np.int8(code) for code, fault in enumerate(QualityFault)}
_TOO_HIGH = _FAULT_CODE[QualityFault.PSQI_HIGH]
_CODE = {quality: np.int8(code) for code, quality in enumerate(Quality)}


class Grade(IntEnum):
    """What one index says about a window."""

    UNQUALIFIED = 0
    SUSPICIOUS = 1
    OPTIMAL = 2


def grade_psqi(psqi: NDArray[np.floating], hr_max: NDArray[np.floating]) -> Grades:
    """Grade of pSQI, given the highest heart rate in beats/min (NaN, unknown: not fast).

    As in NeuroKit2 a value exactly on a limit is unqualified, and so is one above the range.
    """
    fast = hr_max >= FAST_RATE
    low, middle, high = (
        np.where(fast, quick, usual)
        for quick, usual in zip(PSQI_LIMITS_FAST, PSQI_LIMITS, strict=True)
    )
    suspicious = (psqi > low) & (psqi < middle)
    optimal = (psqi > middle) & (psqi < high)
    return _grades(suspicious, optimal)


def grade_ksqi(ksqi: NDArray[np.floating]) -> Grades:
    """Grade of kSQI: never suspicious."""
    return _grades(np.zeros(ksqi.shape, dtype=np.bool_), ksqi > KSQI_OPTIMAL_ABOVE)


def grade_bassqi(bassqi: NDArray[np.floating]) -> Grades:
    """Grade of basSQI.

    NaN, a window without power, is unqualified; NeuroKit2 calls it suspicious, but as pSQI and
    kSQI are NaN as well the class is the same.
    """
    usable, good = BASSQI_LIMITS
    return _grades(bassqi >= usable, bassqi >= good)


def grade_qsqi(qsqi: NDArray[np.floating]) -> Grades:
    """Grade of qSQI."""
    usable, good = QSQI_LIMITS
    return _grades(qsqi >= usable, qsqi > good)


def fuse_three(psqi: Grades, ksqi: Grades, bassqi: Grades) -> NDArray[np.int8]:
    """Class of each window from three grades, as positions in ``tuple(Quality)``."""
    unqualified, suspicious, optimal = _count((psqi, ksqi, bassqi))
    bad = (unqualified >= 2) | ((unqualified == 1) & (suspicious == 2))
    good = (optimal >= 2) & (unqualified == 0)
    return _classes(bad, good)


def fuse_four(psqi: Grades, ksqi: Grades, bassqi: Grades, qsqi: Grades) -> NDArray[np.int8]:
    """Class of each window from four grades, as positions in ``tuple(Quality)``."""
    unqualified, suspicious, optimal = _count((psqi, ksqi, bassqi, qsqi))
    bad = (
        (unqualified >= 3)
        | ((unqualified == 2) & (suspicious >= 1))
        | ((unqualified == 1) & (suspicious == 3))
    )
    good = (optimal >= 3) & (unqualified == 0)
    return _classes(bad, good)


def _grades(suspicious: NDArray[np.bool_], optimal: NDArray[np.bool_]) -> Grades:
    """Grades from two masks, of which the second prevails."""
    return np.select(
        [optimal, suspicious],
        [np.int8(Grade.OPTIMAL), np.int8(Grade.SUSPICIOUS)],
        default=np.int8(Grade.UNQUALIFIED),
    )


def _count(grades: tuple[Grades, ...]) -> list[NDArray[np.intp]]:
    """How many of a window's indices have each grade, from unqualified to optimal."""
    return [np.sum([index == grade for index in grades], axis=0) for grade in Grade]


def _classes(bad: NDArray[np.bool_], good: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Class codes from two masks that exclude each other."""
    return np.select(
        [bad, good],
        [_CODE[Quality.UNACCEPTABLE], _CODE[Quality.EXCELLENT]],
        default=_CODE[Quality.BARELY_ACCEPTABLE],
    )


def agreement(
    first: Indices, second: Indices, n_windows: int, *, tolerance: int
) -> NDArray[np.float64]:
    """Share of beats that both detectors found, shape (n,), 0 where neither found any.

    Two beats match when each is the other's nearest and they lie at most ``tolerance`` samples
    apart. Beats are matched along the recording, across the windows' borders; a pair is counted
    once, in the window of the first detector's beat.

    A beat without partner counts as disagreement only where the first detector, which takes
    each window by itself, could have seen the partner: not within ``tolerance`` of its dead time
    of 0.3 s at the window's start, nor of the window's end. Otherwise nearly half of all windows
    (44 % in the PAF Prediction set) would lose a tenth of their qSQI to a beat on their edge.

    Parameters
    ----------
    first
        Beats of `find_gradient_beats`: ascending sample indices from the recording's start.
    second
        Beats of the other detector, likewise.
    n_windows
        Number of windows of the recording.
    tolerance
        In samples.
    """
    partner = partners(first, second, tolerance)
    paired = partner >= 0
    alone = np.concatenate([first[~paired], np.delete(second, partner[paired])])
    matched = _per_window(first[paired], n_windows)
    unmatched = _per_window(alone[away_from_edges(alone, tolerance)], n_windows)
    counted = matched + unmatched
    share = np.zeros(n_windows)
    np.divide(matched, counted, out=share, where=counted > 0)
    return share


def _per_window(beats: Indices, n_windows: int) -> Indices:
    """Count the beats of each window, shape (n,)."""
    return np.bincount(beats // WINDOW_SAMPLES, minlength=n_windows)


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
