"""The window grid: any rate and length gives whole windows from the start, and no other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocessing.chain import clean_windows, count_windows
from preprocessing.config import SignalSettings

RATES = st.sampled_from([40.0, 99.7, 100.0, 125.0, 128.0, 250.0, 256.0, 360.0, 500.0])


@given(RATES, st.integers(0, 100_000))
def test_windows_are_all_that_fit_and_no_more(fs: float, n_samples: int) -> None:
    n = count_windows(n_samples, fs)
    assert n * 10 <= n_samples / fs + 1e-6
    assert n_samples / fs < (n + 1) * 10 + 1e-6


@settings(max_examples=25)
@given(RATES, st.floats(10, 45), st.integers(0, 2**32 - 1))
def test_windows_have_the_grids_shape_and_are_finite(fs: float, seconds: float, seed: int) -> None:
    signal = np.random.default_rng(seed).normal(size=int(seconds * fs)).astype(np.float32)
    clean = clean_windows(signal, fs, SignalSettings())
    assert clean.windows.shape == (count_windows(signal.size, fs), 1000)
    assert np.isfinite(clean.windows).all()
    assert clean.n_samples >= 1000 * len(clean.windows)


@settings(max_examples=25)
@given(RATES, st.integers(0, 9))
def test_window_k_shows_what_happened_at_ten_k_seconds(fs: float, second: int) -> None:
    signal = np.zeros(int(30 * fs), np.float32)
    at = int((10 + second) * fs) + int(fs / 2)
    signal[at - 2 : at + 3] = 5.0
    windows = clean_windows(signal, fs, SignalSettings()).windows.astype(np.float32)
    window, sample = np.unravel_index(np.argmax(np.abs(windows)), windows.shape)
    assert window == 1
    assert abs(sample / 100 - (second + 0.5)) < 0.1
