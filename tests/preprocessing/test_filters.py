"""Resampling, filtering and normalising, against closed forms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.signal import butter, resample_poly, sosfiltfilt

from preprocessing.chain import bridge_gaps, highpass, normalise, polarity_score, resample
from tests.edf_files import beats

RATES = [125, 250, 256, 360, 300, 128, 500, 100, 199.8]
INNER = slice(300, -300)


def tone(hz: float, fs: float, seconds: float = 60) -> np.ndarray:
    return np.sin(2 * np.pi * hz * np.arange(int(seconds * fs)) / fs).astype(np.float32)


@pytest.mark.parametrize("fs", RATES)
def test_slow_tone_survives_resampling(fs: float) -> None:
    resampled = resample(tone(7, fs), fs)
    assert resampled.size == pytest.approx(6000, abs=2)
    expected = tone(7, 100)[: resampled.size]
    np.testing.assert_allclose(resampled[: expected.size][INNER], expected[INNER], atol=6e-3)


@pytest.mark.parametrize("fs", [250, 256, 360, 300, 500])
def test_tone_above_the_new_limit_does_not_alias(fs: float) -> None:
    assert np.abs(resample(tone(70, fs), fs)[INNER]).max() < 0.02


def tracked_times(fs: float, duration_s: float) -> np.ndarray:
    """Return how far the sweep's phase is from where the clock says, in seconds, once a second.

    A sweep from 5 to 15 Hz tells the time: its phase gives it to a fraction of a millisecond.
    """
    sweep = 10.0 / duration_s / 2

    def phase(t: np.ndarray) -> np.ndarray:
        return 2 * np.pi * (5 * t + sweep * t**2)

    resampled = resample(np.sin(phase(np.arange(int(duration_s * fs)) / fs)).astype(np.float32), fs)
    t = np.arange(resampled.size) / 100
    # Turned back by the phase that it should have, what is left turns by the error alone.
    turned = (resampled * np.exp(-1j * phase(t))).reshape(-1)
    smooth = np.add.reduceat(turned, np.arange(0, turned.size, 100))[2:-2]
    error = np.angle(smooth * 1j)
    at = t[::100][2 : 2 + error.size] + 0.5
    return error / (2 * np.pi * (5 + 2 * sweep * at))


@settings(max_examples=25, deadline=None)
@given(st.floats(50, 1000))
@example(199.975)
@example(499.94)
@example(250.01)
@example(50.0007)
@example(999.999)
def test_no_window_drifts_from_its_time(fs: float) -> None:
    assert np.abs(tracked_times(fs, 600)).max() < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("fs", [50.0007, 99.99, 127.9999, 199.975, 250.01, 333.3337])
def test_no_window_of_72_hours_is_more_than_5_ms_off(fs: float) -> None:
    assert np.abs(tracked_times(fs, 72 * 3600)).max() < 5e-3


@pytest.mark.slow
@pytest.mark.parametrize("fs", [1000.037, 4095.9])
def test_high_rates_stay_in_time_for_as_long_as_memory_allows(fs: float) -> None:
    assert np.abs(tracked_times(fs, 6 * 3600)).max() < 5e-3


@pytest.mark.parametrize("fs", [125, 250, 256, 360, 300, 128, 500, 200, 512, 1000])
def test_rates_of_the_field_are_resampled_as_before(fs: float) -> None:
    ratio = Fraction(100) / Fraction(fs)
    expected = resample_poly(tone(7, fs), ratio.numerator, ratio.denominator, padtype="mean")
    np.testing.assert_array_equal(resample(tone(7, fs), fs), expected)


def test_offset_leaves_no_step_at_the_ends() -> None:
    signal = (5 + 0.01 * tone(7, 250)).astype(np.float32)
    resampled = resample(signal, 250)
    assert abs(resampled[0] - 5) < 0.05
    assert abs(resampled[-1] - 5) < 0.05


@pytest.mark.parametrize(("hz", "gain"), [(0.25, (1 / (1 + 2**10))), (0.5, 0.5), (5, 1)])
def test_highpass_gain_is_butterworth_twice(hz: float, gain: float) -> None:
    filtered = highpass(tone(hz, 100, 600), cutoff_hz=0.5, order=5)
    middle = filtered[20000:-20000]
    assert np.abs(middle).max() == pytest.approx(gain, abs=0.01)


def test_highpass_has_no_phase() -> None:
    filtered = highpass(tone(5, 100), cutoff_hz=0.5, order=5)
    np.testing.assert_allclose(filtered[1500:-1500], tone(5, 100)[1500:-1500], atol=2e-3)


@pytest.mark.parametrize("size", [25, 1000, 4321])
@pytest.mark.parametrize(("order", "cutoff_hz"), [(5, 0.5), (2, 1.0), (4, 0.05)])
def test_highpass_equals_scipys_forward_backward_filter(
    size: int, order: int, cutoff_hz: float
) -> None:
    signal = np.random.default_rng(size).normal(size=size).astype(np.float32)
    expected = sosfiltfilt(butter(order, cutoff_hz, "highpass", fs=100, output="sos"), signal)
    filtered = highpass(signal, cutoff_hz=cutoff_hz, order=order)
    np.testing.assert_allclose(filtered, expected, rtol=1e-6, atol=1e-6)


def test_highpass_output_has_positive_strides() -> None:
    assert highpass(tone(5, 100), cutoff_hz=0.5, order=5).strides[0] > 0


@pytest.mark.parametrize("size", [1, 5, 30, 100])
def test_short_signals_pass_the_filter(size: int) -> None:
    assert highpass(np.ones(size, np.float32), cutoff_hz=0.5, order=5).size == size


def test_gaps_are_bridged_by_straight_lines() -> None:
    signal = np.array([np.nan, 1, np.nan, np.inf, 4, np.nan], np.float32)
    np.testing.assert_allclose(bridge_gaps(signal), [1, 1, 2, 3, 4, 4])


def test_signal_without_a_finite_sample_becomes_zero() -> None:
    np.testing.assert_array_equal(bridge_gaps(np.full(5, np.nan, np.float32)), 0)


@given(arrays(np.float64, st.integers(2, 300), elements=st.floats(-1e6, 1e6)))
def test_normalised_signal_is_finite_and_can_be_undone(signal: np.ndarray) -> None:
    z, mean, std = normalise(signal.copy())
    assert np.isfinite(z).all()
    # float16 carries 11 bits, and z is at most sqrt(n).
    np.testing.assert_allclose(
        z.astype(np.float64) * std + mean, signal, atol=std * np.sqrt(signal.size) * 2**-10 + 1e-6
    )


def test_one_huge_spike_in_a_night_does_not_overflow() -> None:
    signal = np.zeros(2_880_000)
    signal[1000] = 1e9
    assert np.isfinite(normalise(signal)[0]).all()


def test_polarity_is_odd() -> None:
    windows = normalise(beats(60, 100))[0].reshape(-1, 1000).astype(np.float32)
    assert polarity_score(windows) > 0.5
    assert polarity_score(-windows) == pytest.approx(-polarity_score(windows))


def test_polarity_of_nothing_is_zero() -> None:
    assert polarity_score(np.zeros((0, 1000), np.float32)) == 0
    assert polarity_score(np.zeros((3, 1000), np.float32)) == 0
