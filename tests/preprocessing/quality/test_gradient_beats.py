"""The gradient detector on pulses at known places; `test_quality_oracle` compares NeuroKit2."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from preprocessing.beats import find_gradient_beats, highest_rate, mean_rate


def pulses(*places: int) -> NDArray[np.float64]:
    """One window with a narrow bump at each place."""
    at = np.arange(1000)
    bumps = [np.exp(-(((at - place) / 2.0) ** 2)) for place in places]
    return np.sum(bumps, axis=0)[np.newaxis]


def test_beats_are_found_where_the_pulses_are() -> None:
    places = [100, 190, 270, 365, 450, 540, 620, 710, 800, 890]
    assert find_gradient_beats(pulses(*places)).tolist() == places


def test_beats_of_later_windows_are_counted_from_the_first_sample_of_all() -> None:
    windows = np.concatenate([pulses(100, 400, 700), pulses(250, 600)])
    assert find_gradient_beats(windows).tolist() == [100, 400, 700, 1250, 1600]


def test_no_beat_is_found_in_the_first_samples_of_a_window() -> None:
    assert find_gradient_beats(pulses(30, 300, 600)).tolist() == [300, 600]


def test_a_beat_too_soon_after_another_is_dropped() -> None:
    assert find_gradient_beats(pulses(200, 224, 500, 800)).tolist() == [200, 500, 800]


def test_highest_rate_comes_from_the_shortest_interval() -> None:
    beats = np.array([100, 200, 250, 950, 1010, 2100, 2200])
    rates = highest_rate(beats, 4)
    np.testing.assert_allclose(rates, [120, np.nan, 60, np.nan])


def test_intervals_across_a_border_do_not_count() -> None:
    assert np.isnan(highest_rate(np.array([990, 1035]), 2)).all()


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_a_constant_window_has_no_beats(value: float) -> None:
    assert find_gradient_beats(np.full((3, 1000), value)).size == 0


def test_no_windows_have_no_beats() -> None:
    assert find_gradient_beats(np.empty((0, 1000))).size == 0


def test_mean_rate_is_of_the_mean_interval_and_the_spread_of_the_single_rates() -> None:
    mean, spread = mean_rate(
        np.array([0, 0, 0, 1, 1, 2]), np.array([1.0, 2.0, 4.0, 11.0, 11.5, 25.0]), 4
    )
    assert mean[:2].tolist() == [pytest.approx(40.0), pytest.approx(120.0)]
    assert spread[0] == pytest.approx(np.std([60.0, 30.0]))
    assert np.isnan([*mean[2:], *spread[1:]]).all()
