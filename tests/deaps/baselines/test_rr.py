"""Six numbers of the RR series, on intervals whose numbers can be written down."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from deaps.baselines import RR_NAMES, rr_features, rr_numbers
from tests.deaps.evaluation.made_windows import beats_from, ecg_window, irregular_beats


def numbers(intervals: list[float]) -> dict[str, float]:
    return dict(zip(RR_NAMES, rr_numbers(np.array(intervals)), strict=True))


def test_a_regular_rhythm_has_no_variation() -> None:
    six = numbers([0.8] * 10)
    assert six.pop("rr_mean") == pytest.approx(0.8)
    assert list(six.values()) == pytest.approx([0.0] * 5)


def test_alternating_intervals_have_numbers_in_closed_form() -> None:
    """Intervals 0.8 - a and 0.8 + a in turn: every step is 2 a and every inner one a turn."""
    a, n = 0.1, 10
    six = numbers([0.8 + a * (-1) ** k for k in range(n)])
    assert six["rr_variation"] == pytest.approx(a * np.sqrt(n / (n - 1)) / 0.8)
    assert six["rr_rmssd_share"] == pytest.approx(2 * a / 0.8)
    assert six["rr_step_share"] == pytest.approx(2 * a / 0.8)
    assert six["rr_steps_over_50_ms"] == 1.0
    assert six["rr_mean"] == pytest.approx(0.8)
    assert six["rr_turns"] == 1.0


def test_evenly_growing_intervals_never_turn() -> None:
    step, n = 0.04, 9
    six = numbers([0.6 + step * k for k in range(n)])
    mean = 0.6 + step * (n - 1) / 2
    assert six["rr_mean"] == pytest.approx(mean)
    assert six["rr_variation"] == pytest.approx(step * np.sqrt(n * (n + 1) / 12) / mean)
    assert six["rr_rmssd_share"] == pytest.approx(step / mean)
    assert six["rr_steps_over_50_ms"] == 0.0
    assert six["rr_turns"] == 0.0


def test_one_early_beat_moves_the_root_mean_square_and_not_the_median() -> None:
    """0.8 s throughout, but for one interval of 0.5 s and the pause of 1.1 s that follows."""
    six = numbers([0.8, 0.8, 0.8, 0.8, 0.5, 1.1, 0.8, 0.8, 0.8])
    assert six["rr_step_share"] == pytest.approx(0.0)
    assert six["rr_rmssd_share"] == pytest.approx(np.sqrt((0.3**2 + 0.6**2 + 0.3**2) / 8) / 0.8)
    assert six["rr_steps_over_50_ms"] == pytest.approx(3 / 8)
    assert six["rr_turns"] == pytest.approx(2 / 7)


def test_a_random_succession_turns_two_thirds_of_the_time() -> None:
    six = numbers(np.random.default_rng(0).uniform(0.5, 1.0, 20_000).tolist())
    assert six["rr_turns"] == pytest.approx(2 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("intervals", "mean"), [([], 2.0), ([0.9], 0.9)], ids=["no interval", "one interval"]
)
def test_too_few_beats_look_like_a_regular_rhythm(intervals: list[float], mean: float) -> None:
    assert rr_numbers(np.array(intervals)) == (0.0, 0.0, 0.0, 0.0, mean, 0.0)


def test_two_intervals_have_a_step_and_no_turn() -> None:
    six = numbers([0.7, 0.9])
    assert six["rr_step_share"] == pytest.approx(0.2 / 0.8)
    assert six["rr_turns"] == 0.0


def test_windows_give_the_numbers_of_their_beats() -> None:
    intervals = [0.80, 0.84, 0.78, 0.90, 0.82, 0.74, 0.86, 0.80, 0.88, 0.84]
    (six,) = rr_features(ecg_window(beats_from(intervals))[np.newaxis])
    expected = np.array(rr_numbers(np.array(intervals)))
    timed = [0, 1, 2, 4, 5]  # a step of just 50 ms may come out on either side
    np.testing.assert_allclose(six[timed], expected[timed], atol=0.006)


def test_irregular_beats_vary_more_than_regular_ones() -> None:
    windows = [ecg_window(beats_from([0.8] * 11))]
    windows += [ecg_window(irregular_beats(k), p_wave=False) for k in range(4)]
    variation = rr_features(np.stack(windows))[:, 0]
    assert (variation[1:] > 10 * variation[0]).all()


def odd_windows() -> NDArray[np.float32]:
    """Return windows that no heart makes: flat, unknown, noise, one beat, a ramp, a spike."""
    rng = np.random.default_rng(0)
    spike = np.zeros(1000)
    spike[400] = 30
    odd = [
        np.zeros(1000), np.full(1000, np.nan), np.full(1000, np.inf), rng.standard_normal(1000),
        ecg_window([5.0], noise=0.0), ecg_window([3.0, 6.0], noise=0.0), np.linspace(-1, 1, 1000),
        spike, np.where(np.arange(1000) < 900, 0.0, rng.standard_normal(1000)),
        np.sin(2 * np.pi * 0.05 * np.arange(1000) / 100), 1e4 * rng.standard_normal(1000),
    ]  # fmt: skip
    return np.stack(odd).astype(np.float32)


def test_odd_windows_have_finite_numbers() -> None:
    six = rr_features(odd_windows())
    assert np.isfinite(six).all()
    np.testing.assert_array_equal(six[0], np.float32([0, 0, 0, 0, 2, 0]))


def test_the_detector_is_not_asked_where_it_would_read_past_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(
        "deaps.baselines.detect_heartbeats", lambda x, _: asked.append(len(x)) or []
    )
    noise = np.random.default_rng(0).standard_normal(1000)
    late, earlier = (np.where(np.arange(1000) < start, 0.0, noise) for start in (801, 800))
    rr_features(late[np.newaxis].astype(np.float32))
    assert asked == []
    rr_features(earlier[np.newaxis].astype(np.float32))
    assert asked == [1000]


def test_no_windows_give_no_rows() -> None:
    assert rr_features(np.empty((0, 1000), np.float32)).shape == (0, 6)


def test_windows_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 999\); expected \(n, 1000\)"):
        rr_features(np.zeros((3, 999), np.float32))


def test_numbers_take_well_under_a_millisecond() -> None:
    intervals = np.random.default_rng(0).uniform(0.5, 1.0, 12)
    runs = timeit.repeat(lambda: rr_numbers(intervals), number=40, repeat=5)
    assert min(runs) / 40 < 0.5e-3


@pytest.mark.real
def test_real_afib_varies_more_than_other_rhythms(real_data: Callable[[str], Path]) -> None:
    from preprocessing.chain import process
    from preprocessing.config import QualitySettings, SignalSettings
    from preprocessing.datasets import DATASETS

    root, dataset = real_data("mitdb"), DATASETS["mitdb"]
    variation: dict[bool, list[float]] = {True: [], False: []}
    for record in dataset.find(root):
        if record.name in ("202", "210", "219", "222"):
            raw = dataset.read(root, record, ())
            made = process(raw, signal=SignalSettings(), quality=QualitySettings())
            rhythms = np.array(made.rhythm)
            within = (made.rhythm_share == 1) & ~made.gate.rejected & (rhythms != "AFL")
            six = rr_features(made.windows[within].astype(np.float32))
            for rhythm, row in zip(rhythms[within], six, strict=True):
                variation[rhythm == "AFIB"].append(row[0])
    afib, other = np.array(variation[True]), np.array(variation[False])
    assert min(len(afib), len(other)) > 100
    assert np.median(afib) > 1.5 * np.median(other)
    assert roc_auc_score(np.repeat([1, 0], [len(afib), len(other)]), np.append(afib, other)) > 0.65
