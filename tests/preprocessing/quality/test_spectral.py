"""pSQI and basSQI of signals whose spectrum is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal
from numpy.typing import NDArray

from preprocessing.quality import spectral_indices

TIME_S = np.arange(1000) / 100


def tones(*parts: tuple[float, float]) -> NDArray[np.float64]:
    """One window with the sum of sines given as (Hz, amplitude)."""
    wave = [amplitude * np.sin(2 * np.pi * hz * TIME_S) for hz, amplitude in parts]
    return np.sum(wave, axis=0)[np.newaxis]


@pytest.mark.parametrize(
    ("inside", "outside", "share"), [(1, 1, 0.5), (1, 2, 0.2), (3, 1, 0.9), (1, 0, 1), (0, 1, 0)]
)
def test_psqi_is_the_share_of_power_between_5_and_15_hz(
    inside: float, outside: float, share: float
) -> None:
    psqi, _ = spectral_indices(tones((10, inside), (30, outside)))
    assert psqi == pytest.approx(share, abs=1e-5)


def test_psqi_ignores_power_below_5_and_above_40_hz() -> None:
    psqi, _ = spectral_indices(tones((10, 1), (30, 1), (2, 9), (46, 9)))
    assert psqi == pytest.approx(0.5, abs=1e-3)


def test_bassqi_is_one_without_baseline_and_low_with_little_else() -> None:
    _, clean = spectral_indices(tones((10, 1)))
    _, wander = spectral_indices(tones((0.6, 1)))
    assert clean == pytest.approx(1, abs=1e-6)
    assert wander < 0.2


def test_baseline_below_four_cycles_a_window_is_left_out_as_in_neurokit2() -> None:
    _, bassqi = spectral_indices(tones((10, 1), (0.1, 1)))
    assert bassqi > 0.99


def test_indices_equal_ratios_of_scipys_welch_spectrum() -> None:
    noise = np.random.default_rng(1).normal(size=(5, 1000)).cumsum(axis=1)
    hz, power = scipy.signal.welch(
        noise - noise.mean(axis=1, keepdims=True), fs=100, nperseg=500, nfft=1000, detrend=False
    )

    def area(low: float, high: float) -> NDArray[np.float64]:
        band = (hz >= low) & (hz < high)
        return np.trapezoid(power[:, band], hz[band], axis=1)

    psqi, bassqi = spectral_indices(noise)
    np.testing.assert_allclose(psqi, area(5, 15) / area(5, 40), rtol=1e-12)
    np.testing.assert_allclose(bassqi, 1 - area(0.4, 1) / area(0.4, 40), rtol=1e-12)


def test_a_constant_window_has_no_indices() -> None:
    assert np.isnan(spectral_indices(np.full((1, 1000), 3.0))).all()
