"""Quality and beats of clean ECG at any rate, and of what is no ECG."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from numpy.typing import NDArray

from preprocessing.chain import clean_windows
from preprocessing.config import SignalSettings
from preprocessing.quality import QualityScores, score_windows
from storage.schema import Quality, RPeaks
from tests.clean_ecg import FS, RATES, SHAPES, CleanEcg, Shape, clean_ecg

EXCELLENT, _, UNACCEPTABLE = range(len(Quality))


def scored(ecg: CleanEcg) -> tuple[QualityScores, RPeaks]:
    windows = clean_windows(ecg.signal, FS, SignalSettings()).windows
    return score_windows(windows.astype(np.float32))


def times(peaks: RPeaks) -> NDArray[np.float64]:
    return peaks.row * 10 + peaks.offset_s.astype(np.float64)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_clean_window_is_unacceptable_at_no_rate(shape: Shape) -> None:
    """All shapes together are 2,080 windows: 35 to 180 beats a minute."""
    rejected = {
        rate: int((scored(clean_ecg(shape, rate))[0].quality == UNACCEPTABLE).sum())
        for rate in RATES
    }
    assert rejected == dict.fromkeys(RATES, 0)


def noise(kind: str) -> NDArray[np.float32]:
    rng = np.random.default_rng(5)
    samples = rng.standard_normal(60_000)
    if kind == "slow":
        band = scipy.signal.butter(2, (0.5, 5), "bandpass", fs=100, output="sos")
        samples = scipy.signal.sosfiltfilt(band, samples)
    if kind == "bursts":
        samples *= np.abs(np.sin(np.arange(samples.size) / 350))
    return samples.astype(np.float32)


@pytest.mark.parametrize("kind", ["white", "slow", "bursts"])
def test_noise_is_unacceptable(kind: str) -> None:
    windows = clean_windows(noise(kind), 100, SignalSettings()).windows
    scores, _ = score_windows(windows.astype(np.float32))
    assert (scores.quality == UNACCEPTABLE).mean() > 0.9
    np.testing.assert_array_equal(scores.quality, scores.quality4)  # none is called a heart


def test_noise_over_a_heart_is_unacceptable() -> None:
    ecg = clean_ecg(SHAPES[0], 60, noise_mv=2.0)
    assert (scored(ecg)[0].quality == UNACCEPTABLE).mean() > 0.9


@pytest.mark.parametrize("rate", RATES)
def test_every_beat_is_found_once_and_placed_between_the_samples(rate: int) -> None:
    ecg = clean_ecg(SHAPES[0], rate, seconds=300, noise_mv=0.01)
    peaks = scored(ecg)[1]
    found = times(peaks)
    # The first and the last beat have no surroundings.
    truth = ecg.beats_s[(ecg.beats_s > 0.5) & (ecg.beats_s < 299.5)]
    inner = found[(found > 0.5) & (found < 299.5)]
    assert len(inner) == len(truth)
    error = inner - truth
    off = np.abs(error - np.median(error))
    assert np.quantile(off, 0.99) < 0.004
    assert np.sqrt(np.mean(np.square(off[off < 0.05]))) < 0.001
    assert np.all(np.diff(peaks.row) >= 0)


def test_an_interval_that_is_early_or_late_is_not_normal() -> None:
    ecg = clean_ecg(SHAPES[0], 60, seconds=120)
    peaks = scored(ecg)[1]
    assert peaks.trusted.mean() > 0.97
    assert peaks.normal[1:].mean() > 0.95
    bigeminy = scored(clean_ecg(SHAPES[-2], 60, seconds=120))[1]
    assert bigeminy.normal.mean() < 0.1


def test_noise_has_hardly_a_normal_interval() -> None:
    windows = clean_windows(noise("white"), 100, SignalSettings()).windows
    peaks = score_windows(windows.astype(np.float32))[1]
    assert peaks.normal.mean() < 0.2


def test_beats_at_the_borders_of_windows_are_found_once() -> None:
    ecg = clean_ecg(SHAPES[0], 60, seconds=200)
    shift = ecg.beats_s[5] - 50.0  # a beat exactly between two windows
    late = np.roll(ecg.signal, -round(shift * FS))
    windows = clean_windows(late, FS, SignalSettings()).windows
    found = times(score_windows(windows.astype(np.float32))[1])
    assert np.sum(np.abs(found - 50.0) < 0.2) == 1
