"""Classical features on windows whose beats are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from deaps.baselines import (
    FEATURE_NAMES,
    beat_times,
    classical_features,
    delineate,
    find_beats,
    rhythm_features,
    sample_entropy_coefficient,
    without_beats,
)
from tests.deaps.evaluation.made_windows import T, beats_from, ecg_window, irregular_beats

UNEVEN_S = [0.80, 0.84, 0.78, 0.90, 0.82, 0.74, 0.86, 0.80, 0.88, 0.84]


def features(*windows: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    return dict(zip(FEATURE_NAMES, classical_features(np.stack(windows)).T, strict=True))


def regular() -> NDArray[np.float32]:
    return ecg_window(beats_from([0.8] * 11))


def test_names_are_unique_and_one_for_each_column() -> None:
    assert len(set(FEATURE_NAMES)) == len(FEATURE_NAMES)
    assert classical_features(regular()[np.newaxis]).shape == (1, len(FEATURE_NAMES))


def test_regular_beats_give_their_rate_and_no_variability() -> None:
    found = features(regular())
    assert found["heart_rate"][0] == pytest.approx(75, abs=0.1)
    assert found["rmssd"][0] < 0.004
    assert found["pnn50"][0] == 0


def test_known_intervals_give_their_variability() -> None:
    found = features(ecg_window(beats_from(UNEVEN_S)))
    intervals = np.array(UNEVEN_S)
    assert found["nn_mean"][0] == pytest.approx(intervals.mean(), abs=0.002)
    assert found["sdnn"][0] == pytest.approx(intervals.std(ddof=1), abs=0.004)
    assert found["rmssd"][0] == pytest.approx(np.sqrt(np.mean(np.diff(intervals) ** 2)), abs=0.004)
    assert found["nn_min"][0] == pytest.approx(0.74, abs=0.005)
    assert found["nn_max"][0] == pytest.approx(0.90, abs=0.005)
    assert found["pnn50"][0] == pytest.approx(np.mean(np.abs(np.diff(intervals)) > 0.05))


def test_rhythm_features_equal_their_textbook_formulas() -> None:
    x = np.array([0.8, 1.0, 0.7, 0.9, 0.75, 1.1])
    found = rhythm_features(x)
    assert found["cvnn"] == pytest.approx(np.std(x, ddof=1) / np.mean(x))
    assert found["sd1"] == pytest.approx(np.sqrt(np.mean((x[1:] - x[:-1]) ** 2) / 2))
    assert found["nn_autocorrelation"] == pytest.approx(np.corrcoef(x[:-1], x[1:])[0, 1])
    assert found["nn_turns"] == 1.0
    assert found["nn_early"] == pytest.approx(1 / 6)  # 0.7 s against a median of 0.85 s


def entropy_by_loops(x: list[float], matches: int, tolerance: float) -> float:
    """Return the coefficient of sample entropy, counted pair by pair."""
    while True:
        one = both = 0
        for i in range(len(x) - 1):
            for j in range(i + 1, len(x) - 1):
                near = abs(x[i] - x[j]) <= tolerance
                one += near
                both += near and abs(x[i + 1] - x[j + 1]) <= tolerance
        if both >= matches:
            return float(np.log(one / both) + np.log(2 * tolerance) - np.log(np.mean(x)))
        tolerance += 1e-5


def test_entropy_equals_a_count_of_pairs() -> None:
    intervals = np.random.default_rng(3).uniform(0.5, 1.1, 11)
    expected = entropy_by_loops(intervals.tolist(), 5, 0.01)
    assert sample_entropy_coefficient(intervals) == pytest.approx(expected, abs=1e-3)


def test_beats_between_samples_are_timed_between_samples() -> None:
    beats = beats_from([0.803, 0.911, 0.847, 0.795, 0.868, 0.822, 0.909, 0.834])
    window = ecg_window(beats, noise=0.0).astype(np.float64)
    found = beat_times(window, find_beats(window))
    np.testing.assert_allclose(found, beats, atol=0.002)


def test_irregular_beats_vary_more_than_regular_ones() -> None:
    found = features(regular(), *(ecg_window(irregular_beats(k), p_wave=False) for k in range(4)))
    for name in ("rmssd", "cvnn", "nn_iqr"):
        assert (found[name][1:] > 10 * found[name][0]).all(), name
    assert (found["cosen"][1:] > found["cosen"][0] + 2).all()


def test_p_waves_are_seen_where_they_are() -> None:
    beats = beats_from(UNEVEN_S)
    with_p = ecg_window(beats, noise=0.02)
    without = ecg_window(beats, noise=0.02, p_wave=False)
    found = features(with_p, without)
    assert found["p_share"][0] > 0.9
    assert found["p_share"][1] < 0.5
    assert found["p_likeness"][0] > 0.9 > 0.6 > found["p_likeness"][1]
    assert found["p_place_sd"][0] < 0.01 < found["p_place_sd"][1]


def test_waves_have_their_heights_and_intervals() -> None:
    found = features(ecg_window(beats_from(UNEVEN_S), noise=0.002))
    assert found["p_amplitude"][0] == pytest.approx(0.15, abs=0.02)
    assert found["r_amplitude"][0] == pytest.approx(1.1, abs=0.15)  # over the bottom of Q
    assert found["t_amplitude"][0] == pytest.approx(0.3 + 0.12, abs=0.1)
    assert 0.1 < found["pr_interval"][0] < 0.22
    assert T[0] < found["qt_interval"][0] < T[0] + 0.15
    rr = np.mean(UNEVEN_S)
    assert found["qtc"][0] == pytest.approx(found["qt_interval"][0] / np.cbrt(rr), rel=0.01)


@pytest.mark.parametrize("hz", [5.0, 7.5])
def test_fibrillatory_waves_are_seen_at_their_rate(hz: float) -> None:
    beats = irregular_beats(2)
    found = features(
        ecg_window(beats, p_wave=False),
        ecg_window(beats, p_wave=False, f_wave_hz=hz),
    )
    assert found["f_peak_hz"][1] == pytest.approx(hz, abs=0.5)
    assert found["f_level"][1] > 2 * found["f_level"][0]
    assert found["f_concentration"][1] > 0.7 > 0.6 > found["f_concentration"][0]


def test_equal_beats_leave_nothing_behind() -> None:
    beat = np.sin(np.linspace(0, 7, 75))
    window, beats = np.zeros(1000), np.arange(40, 900, 100)
    for at in beats:
        window[at - 30 : at + 45] = beat
    np.testing.assert_allclose(without_beats(window, beats, beat), 0, atol=1e-12)


def test_the_next_beat_takes_over_where_it_begins() -> None:
    median = np.ones(75)
    rest = without_beats(np.zeros(1000), np.array([100, 150]), median)
    np.testing.assert_array_equal(np.flatnonzero(rest), np.arange(70, 195))
    assert set(rest) == {0.0, -1.0}


@pytest.mark.parametrize("value", [0.0, -3.5, np.nan, np.inf])
def test_a_constant_or_unknown_window_has_no_features(value: float) -> None:
    assert np.isnan(classical_features(np.full((2, 1000), value, np.float32))).all()


def test_one_missing_sample_leaves_other_windows_alone() -> None:
    spoilt = regular()
    spoilt[500] = np.nan
    found = classical_features(np.stack([spoilt, regular()]))
    assert np.isnan(found[0]).all()
    np.testing.assert_array_equal(found[1], classical_features(regular()[np.newaxis])[0])


def test_a_window_without_beats_keeps_its_spectrum() -> None:
    slow = np.sin(2 * np.pi * 0.05 * np.arange(1000) / 100).astype(np.float32)
    found = features(slow)
    assert np.isnan(found["heart_rate"][0])
    assert np.isfinite(found["kurtosis"][0])


def odd_windows() -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    step = np.where(np.arange(1000) < 500, -1.0, 1.0)
    spike = np.zeros(1000)
    spike[400] = 30
    two = ecg_window([3.0, 6.0], noise=0.0)
    odd = {
        "noise": rng.standard_normal(1000),
        "square": np.sign(np.sin(np.arange(1000) / 9)),
        "step": step,
        "spike": spike,
        "ramp": np.linspace(-1, 1, 1000),
        "two beats": two,
        "one beat": ecg_window([5.0], noise=0.0),
        "huge": 1e4 * rng.standard_normal(1000),
        "tiny": 1e-6 * rng.standard_normal(1000),
        "fast": np.sin(2 * np.pi * 4 * np.arange(1000) / 100),
        "inverted": -regular(),
        "half flat": np.where(np.arange(1000) < 500, regular(), 0.0),
    }
    return {name: window.astype(np.float32) for name, window in odd.items()}


@pytest.mark.parametrize("name", odd_windows())
def test_odd_windows_raise_nothing_and_give_no_infinity(name: str) -> None:
    found = classical_features(odd_windows()[name][np.newaxis])
    assert not np.isinf(found).any()
    assert np.isfinite(found[0, FEATURE_NAMES.index("kurtosis")])


def test_one_failure_of_neurokit_costs_only_its_features(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise IndexError("index 0 is out of bounds")

    monkeypatch.setattr("neurokit2.ecg_delineate", fail)
    found = features(regular())
    assert np.isnan(found["pr_interval"][0])
    assert found["heart_rate"][0] == pytest.approx(75, abs=0.1)


def test_points_of_a_beat_stay_with_it_when_one_lies_at_the_first_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drop_first(*_: object, **__: object) -> tuple[None, dict[str, list[float]]]:
        names = ("P_Onsets", "P_Peaks", "P_Offsets", "Q_Peaks", "R_Onsets", "R_Offsets")
        names += ("S_Peaks", "T_Onsets", "T_Peaks", "T_Offsets")
        return None, {f"ECG_{name}": [120.0, 220.0] for name in names}

    monkeypatch.setattr("neurokit2.ecg_delineate", drop_first)
    found = delineate(np.zeros(1000), np.array([31, 130, 230]))
    np.testing.assert_array_equal(found["P_Onsets"], [np.nan, 120, 220])


def test_the_same_windows_give_the_same_features() -> None:
    windows = np.stack([regular(), ecg_window(irregular_beats(5))])
    np.testing.assert_array_equal(classical_features(windows), classical_features(windows))


def test_no_windows_give_no_rows() -> None:
    assert classical_features(np.empty((0, 1000), np.float32)).shape == (0, len(FEATURE_NAMES))


def test_windows_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(3, 999\); expected \(n, 1000\)"):
        classical_features(np.zeros((3, 999), np.float32))


@pytest.mark.real
def test_rates_of_a_real_recording_equal_its_annotated_beats(
    real_data: Callable[[str], Path],
) -> None:
    import wfdb

    from preprocessing.chain import process
    from preprocessing.config import QualitySettings, SignalSettings
    from preprocessing.datasets import DATASETS

    root = real_data("mitdb")
    record = next(found for found in DATASETS["mitdb"].find(root) if found.name == "100")
    raw = DATASETS["mitdb"].read(root, record, ())
    windows = process(raw, signal=SignalSettings(), quality=QualitySettings()).windows
    found = features(*windows[:30].astype(np.float32))
    marks = wfdb.rdann(str(root / "100"), "atr")
    beats_s = marks.sample[np.isin(marks.symbol, ["N", "A", "V"])] / marks.fs
    for k in range(30):
        inside = beats_s[(beats_s >= 10 * k + 0.4) & (beats_s < 10 * k + 9.6)]
        assert found["nn_median"][k] == pytest.approx(np.median(np.diff(inside)), abs=0.03)
