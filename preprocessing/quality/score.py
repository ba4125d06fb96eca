"""All quality indices and classes of a recording's windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocessing.quality import gradient_beats, pan_tompkins_beats
from preprocessing.quality.agreement import agreement
from preprocessing.quality.fusion import (
    Grades,
    fuse_four,
    fuse_three,
    grade_bassqi,
    grade_ksqi,
    grade_psqi,
    grade_qsqi,
)
from preprocessing.quality.kurtosis import kurtosis
from preprocessing.quality.spectral import spectral_indices
from storage.schema import FS, WINDOW_SAMPLES

BLOCK = 128
"""Windows worked on at once: 1 MB per array of 64-bit samples, whatever the recording's length."""

NOT_COMPUTED = np.int8(-1)
"""Code of the four-index class where there is no qSQI."""


@dataclass(frozen=True, slots=True)
class QualityScores:
    """Quality of n windows; every array has shape (n,).

    ``psqi``, ``ksqi`` and ``bassqi`` are NaN for a constant window. ``hr_max`` is the highest
    heart rate in beats/min, NaN with fewer than two beats; ``hr_mean`` and ``hr_sd`` are as
    `gradient_beats.mean_rate` has them. ``qsqi`` is NaN where it was not
    asked for. ``quality`` (three indices) and ``quality4`` (four, -1 without qSQI) are positions
    in ``tuple(storage.schema.Quality)``; they come from the unrounded indices.
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


@dataclass(frozen=True, slots=True)
class _Measured:
    """Measurements of some windows, each by itself, in full precision.

    ``beats`` are sample indices from the start of the first window.
    """

    psqi: NDArray[np.float64]
    ksqi: NDArray[np.float64]
    bassqi: NDArray[np.float64]
    hr_max: NDArray[np.float64]
    beats: NDArray[np.intp]

    def grades(self) -> tuple[Grades, Grades, Grades]:
        """Grades of pSQI, kSQI and basSQI."""
        return (
            grade_psqi(self.psqi, self.hr_max),
            grade_ksqi(self.ksqi),
            grade_bassqi(self.bassqi),
        )


def score_windows(
    windows: NDArray[np.float32] | NDArray[np.float16],
    *,
    qsqi: bool = True,
    beat_tolerance_s: float = 0.15,
) -> QualityScores:
    """Zhao & Zhang indices and classes of each window of one recording.

    The three-index class equals that of ``neurokit2.ecg_quality(method="zhao2018")``.

    Parameters
    ----------
    windows
        Shape (n, 1000): consecutive 10 s windows at 100 Hz, high-pass filtered, finite, in any
        unit (nothing here depends on the scale).
    qsqi
        Also run the second beat detector, for qSQI and the four-index class.
    beat_tolerance_s
        Two detectors agree on a beat when they place it within this time.
    """
    if windows.ndim != 2 or windows.shape[1] != WINDOW_SAMPLES:
        msg = f"windows have shape {windows.shape}, expected (n, {WINDOW_SAMPLES})"
        raise ValueError(msg)
    measured = _measure(windows)
    tolerance = round(beat_tolerance_s * FS)
    share = _qsqi(windows, measured.beats, tolerance) if qsqi else None
    return _scores(measured, share)


def _measure(windows: NDArray[np.floating]) -> _Measured:
    """Measure all windows, block by block."""
    blocks = [
        _measure_block(windows[start : start + BLOCK], start * WINDOW_SAMPLES)
        # At least one block, so that no windows give empty arrays.
        for start in range(0, max(len(windows), 1), BLOCK)
    ]
    return _Measured(
        psqi=np.concatenate([block.psqi for block in blocks]),
        ksqi=np.concatenate([block.ksqi for block in blocks]),
        bassqi=np.concatenate([block.bassqi for block in blocks]),
        hr_max=np.concatenate([block.hr_max for block in blocks]),
        beats=np.concatenate([block.beats for block in blocks]),
    )


def _measure_block(windows: NDArray[np.floating], offset: int) -> _Measured:
    """`_measure` for a few windows, the first of which begins at sample ``offset``."""
    # In 64 bits the sum of 1000 equal 32-bit samples is exact, so that a constant window less its
    # mean is zero, not rounding noise with a kurtosis and a spectrum.
    signal = windows.astype(np.float64, order="C")
    psqi, bassqi = spectral_indices(signal)
    beats = gradient_beats.find_beats(signal)
    hr_max = gradient_beats.highest_rate(beats, len(signal))
    return _Measured(psqi, kurtosis(signal), bassqi, hr_max, beats + offset)


def _qsqi(
    windows: NDArray[np.floating], beats: NDArray[np.intp], tolerance: int
) -> NDArray[np.float64]:
    """Compute qSQI of each window, given the first detector's beats."""
    others = pan_tompkins_beats.find_beats(windows)
    return agreement(beats, others, len(windows), tolerance=tolerance)


def _scores(measured: _Measured, qsqi: NDArray[np.float64] | None) -> QualityScores:
    """Classes beside the indices, in the types that are stored."""
    grades = measured.grades()
    n = len(measured.psqi)
    hr_mean, hr_sd = gradient_beats.mean_rate(measured.beats, n)
    return QualityScores(
        psqi=measured.psqi.astype(np.float32),
        ksqi=measured.ksqi.astype(np.float32),
        bassqi=measured.bassqi.astype(np.float32),
        qsqi=(np.full(n, np.nan) if qsqi is None else qsqi).astype(np.float32),
        hr_max=measured.hr_max.astype(np.float32),
        hr_mean=hr_mean.astype(np.float32),
        hr_sd=hr_sd.astype(np.float32),
        quality=fuse_three(*grades),
        quality4=(
            np.full(n, NOT_COMPUTED) if qsqi is None else fuse_four(*grades, grade_qsqi(qsqi))
        ),
    )
