"""Classes and R peaks against NeuroKit2 0.2.13, on synthetic and on real windows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import neurokit2 as nk
import numpy as np
import pytest
import scipy.io
import scipy.signal
import wfdb
from numpy.typing import NDArray

from preprocessing.beats import find_gradient_beats
from preprocessing.quality import score_windows
from storage.schema import Quality

Windows = NDArray[np.float16]
RealData = Callable[[str], Path]

HIGHPASS = scipy.signal.butter(5, 0.5, "highpass", fs=100, output="sos")


def to_windows(signal: NDArray[np.floating], fs: int) -> Windows:
    """The signal chain in short: 100 Hz, high-pass, z-normalised, as stored."""
    resampled = scipy.signal.resample_poly(signal.astype(np.float64), 100, fs)
    filtered = scipy.signal.sosfiltfilt(HIGHPASS, resampled)
    scaled = (filtered - filtered.mean()) / filtered.std()
    n = scaled.size // 1000
    return scaled[: n * 1000].reshape(n, 1000).astype(np.float16)


@cache
def synthetic() -> Windows:
    """300 windows of simulated ECG at many rates, with noise from none to drowning."""
    rng = np.random.default_rng(0)
    recordings = []
    for number in range(15):
        ecg = nk.ecg_simulate(
            duration=200,
            sampling_rate=100,
            heart_rate=45 + 9 * number,
            noise=0,
            method="simple",
            random_state=number,
        )
        level = np.repeat(rng.choice([0, 0.05, 0.15, 0.4, 1.0], size=20), 1000)
        wander = np.sin(2 * np.pi * rng.uniform(0.3, 0.9) * np.arange(ecg.size) / 100)
        noise = rng.normal(size=ecg.size) + wander
        recordings.append(to_windows(ecg + level * ecg.std() * noise, 100))
    return np.concatenate(recordings)


def mitdb(records: list[Path]) -> Iterator[Windows]:
    for path in records:
        record = wfdb.rdrecord(str(path.with_suffix("")))
        lead = "MLII" if "MLII" in record.sig_name else "V5"
        yield to_windows(record.p_signal[:, record.sig_name.index(lead)], record.fs)


def challenge(files: list[Path]) -> Iterator[Windows]:
    for file in files:
        yield to_windows(scipy.io.loadmat(file)["val"][0] / 1000, 300)


def mitdb_files(real_data: RealData) -> list[Path]:
    return sorted(real_data("mitdb").glob("*.dat"))


def challenge_files(real_data: RealData) -> list[Path]:
    return sorted((real_data("challenge-2017") / "training").glob("**/A*.mat"))


def classes_of_neurokit(windows: Windows) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns that 10 s are too short for its 1024 s
        return [
            nk.ecg_quality(window, sampling_rate=100, method="zhao2018")
            for window in windows.astype(np.float64)
        ]


def peaks_of_neurokit(windows: Windows) -> NDArray[np.intp]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            nk.ecg_findpeaks(window, sampling_rate=100)["ECG_R_Peaks"] + at * 1000
            for at, window in enumerate(windows.astype(np.float64))
        ]
    return np.concatenate(found).astype(np.intp)


def our_classes(windows: Windows) -> list[str]:
    return [tuple(Quality)[code] for code in score_windows(windows)[0].quality3]


def sample_of(recordings: Iterator[Windows], n: int) -> Windows:
    windows = np.concatenate(list(recordings))
    return windows[np.random.default_rng(7).permutation(len(windows))[:n]]


def real_sample(real_data: RealData) -> Windows:
    """600 windows from 5 records of MIT-ARR and 110 of Challenge 2017, drawn with a seed."""
    rng = np.random.default_rng(6)
    records, files = mitdb_files(real_data), challenge_files(real_data)
    five = [records[at] for at in rng.permutation(len(records))[:5]]
    others = [files[at] for at in rng.permutation(len(files))[:110]]
    return np.concatenate([sample_of(mitdb(five), 300), sample_of(challenge(others), 300)])


def test_synthetic_windows_cover_all_classes() -> None:
    assert set(our_classes(synthetic())) == set(Quality)


def test_classes_of_synthetic_windows_equal_neurokit() -> None:
    assert our_classes(synthetic()) == classes_of_neurokit(synthetic())


def test_peaks_of_synthetic_windows_equal_neurokit() -> None:
    peaks = find_gradient_beats(synthetic().astype(np.float64))
    np.testing.assert_array_equal(peaks, peaks_of_neurokit(synthetic()))


@pytest.mark.parametrize("levels", [2, 4, 20])
def test_peaks_of_coarse_windows_with_ties_equal_neurokit(levels: int) -> None:
    rng = np.random.default_rng(levels)
    steps = rng.integers(0, levels, size=(40, 250)).repeat(4, axis=1)
    windows = (steps * rng.integers(1, 9, size=(40, 10)).repeat(100, axis=1)).astype(np.float16)
    peaks = find_gradient_beats(windows.astype(np.float64))
    np.testing.assert_array_equal(peaks, peaks_of_neurokit(windows))


@pytest.mark.real
def test_classes_and_peaks_of_a_sample_of_real_windows_equal_neurokit(
    real_data: RealData,
) -> None:
    windows = real_sample(real_data)
    assert our_classes(windows) == classes_of_neurokit(windows)
    peaks = find_gradient_beats(windows.astype(np.float64))
    np.testing.assert_array_equal(peaks, peaks_of_neurokit(windows))


@pytest.mark.slow
@pytest.mark.real
def test_classes_of_all_real_windows_equal_neurokit(real_data: RealData) -> None:
    recordings = [*mitdb(mitdb_files(real_data)), *challenge(challenge_files(real_data))]
    windows = np.concatenate(recordings)
    equal = np.array(our_classes(windows)) == np.array(classes_of_neurokit(windows))
    assert equal.mean() >= 0.999, f"{(~equal).sum()} of {equal.size} windows differ"
