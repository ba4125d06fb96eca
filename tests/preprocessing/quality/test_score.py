"""`score_windows` as a whole: shapes, odd windows, and what the scores must not depend on."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from preprocessing import quality
from preprocessing.quality import QualityScores
from preprocessing.quality import score_windows as scores_and_peaks
from storage.schema import Quality, QualityFault

FAULTS = tuple(QualityFault)
UNACCEPTABLE = tuple(Quality).index(Quality.UNACCEPTABLE)


def score_windows(windows: NDArray[Any], beat_tolerance_s: float = 0.15) -> QualityScores:
    return scores_and_peaks(windows, beat_tolerance_s=beat_tolerance_s)[0]


def ecg_like(n_windows: int, *, noise: float = 0.05, seed: int = 0) -> NDArray[np.float32]:
    """Consecutive windows with an R and a T wave each 0.9 s or so."""
    rng = np.random.default_rng(seed)
    at = np.arange(n_windows * 1000)
    signal = noise * rng.normal(size=at.size)
    for place in np.cumsum(rng.integers(80, 100, size=at.size // 80)):
        for shift, height, width in ((0, 1.0, 2.0), (-4, -0.3, 1.5), (25, 0.25, 6.0)):
            near = slice(max(place + shift - 30, 0), place + shift + 30)
            signal[near] += height * np.exp(-(((at[near] - place - shift) / width) ** 2))
    return signal.reshape(n_windows, 1000).astype(np.float32)


BY_ITSELF = ("psqi", "ksqi", "bassqi", "hr_max", "quality3")
"""What depends on a window alone; beats are found with those of the windows around."""


def assert_same(
    got: QualityScores,
    expected: QualityScores,
    names: tuple[str, ...] = tuple(each.name for each in fields(QualityScores)),
) -> None:
    for name in names:
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name), err_msg=name)


def part(scores: QualityScores, keep: slice) -> QualityScores:
    return QualityScores(*(getattr(scores, each.name)[keep] for each in fields(QualityScores)))


@pytest.mark.parametrize("n_windows", [0, 1, 7])
def test_scores_have_one_value_of_the_promised_type_per_window(n_windows: int) -> None:
    scores = score_windows(ecg_like(n_windows))
    for each in fields(QualityScores):
        array = getattr(scores, each.name)
        assert array.shape == (n_windows,)
        assert array.dtype == (np.int8 if each.name.startswith("quality") else np.float32)


def grades_by_hand(scores: QualityScores, k: int) -> dict[str, int]:
    """Grades as the paper's table has them: 0 unqualified, 1 suspicious, 2 optimal."""
    low, middle, high = (0.3, 0.4, 0.7) if scores.hr_max[k] >= 130 else (0.4, 0.5, 0.8)
    psqi, ksqi, bassqi, qsqi = (
        float(each[k]) for each in (scores.psqi, scores.ksqi, scores.bassqi, scores.qsqi)
    )
    return {
        "psqi": 2 if middle < psqi < high else 1 if low < psqi < middle else 0,
        "ksqi": 2 if ksqi > 5 else 0,
        "bassqi": 2 if bassqi >= 0.95 else 1 if bassqi >= 0.9 else 0,
        "qsqi": 2 if qsqi > 0.9 else 1 if qsqi >= 0.6 else 0,
    }


def test_the_reason_is_the_index_with_the_lowest_grade_and_the_limit_it_missed() -> None:
    noises = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0)
    scores = score_windows(np.concatenate([ecg_like(12, noise=noise) for noise in noises]))
    seen = set()
    for k, code in enumerate(scores.quality_reason):
        if code < 0:
            assert scores.quality[k] == tuple(Quality).index(Quality.EXCELLENT)
            assert np.isnan([scores.reason_value[k], scores.reason_limit[k]]).all()
            continue
        assert scores.quality[k] != tuple(Quality).index(Quality.EXCELLENT)
        index, _, side = FAULTS[code].partition("_")
        grades = grades_by_hand(scores, k)
        assert grades[index] == min(grades.values())
        value, limit = scores.reason_value[k], scores.reason_limit[k]
        assert value == getattr(scores, index)[k]
        assert value >= limit if side == "high" else value <= limit
        seen.add(FAULTS[code])
    assert len(seen) >= 3


def test_two_detectors_agree_on_clean_beats() -> None:
    scores = score_windows(ecg_like(12, noise=0.01))
    assert scores.qsqi.min() > 0.9
    assert scores.hr_max == pytest.approx(np.full(12, 69), abs=7)


def test_two_detectors_disagree_on_noise() -> None:
    noise = np.random.default_rng(3).normal(size=(12, 1000)).astype(np.float32)
    assert score_windows(noise).qsqi.max() < 0.8


def test_a_beat_tolerance_of_a_sample_finds_less_agreement() -> None:
    windows = ecg_like(12, noise=0.2)
    strict, usual = (score_windows(windows, beat_tolerance_s=t).qsqi for t in (0.01, 0.15))
    assert strict.mean() < usual.mean()


@pytest.mark.parametrize("shape", [(1000,), (3, 999), (2, 2, 1000)])
def test_windows_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected \(n, 1000\)"):
        score_windows(np.zeros(shape, dtype=np.float32))


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 60000.0, 6e-8])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_constant_windows_are_unacceptable(value: float, dtype: type[np.float32]) -> None:
    scores = score_windows(np.full((2, 1000), value, dtype=dtype))
    assert (scores.quality == UNACCEPTABLE).all()
    assert (scores.quality3 == UNACCEPTABLE).all()
    assert (scores.quality4 == UNACCEPTABLE).all()
    assert np.isnan([scores.psqi, scores.ksqi, scores.bassqi, scores.hr_max]).all()


def test_a_constant_window_among_others_changes_none_of_them() -> None:
    windows = ecg_like(6)
    alone = score_windows(windows)
    windows[3] = 0
    scores = score_windows(windows)
    assert scores.quality[3] == UNACCEPTABLE
    for kept in (slice(0, 3), slice(4, 6)):
        assert_same(part(scores, kept), part(alone, kept), BY_ITSELF)


@pytest.mark.parametrize("place", [0, 1, 500, 998, 999])
@pytest.mark.parametrize("height", [1e-30, 1.0, 3e38])
def test_a_spike_is_scored_without_warning(place: int, height: float) -> None:
    windows = np.zeros((2, 1000), dtype=np.float32)
    windows[1, place] = height
    scores = score_windows(windows)
    assert scores.ksqi[1] == pytest.approx(998, abs=1)
    assert scores.quality[0] == UNACCEPTABLE


@pytest.mark.parametrize("factor", [1e-36, 1e36])
def test_tiny_and_huge_windows_are_scored_like_others(factor: float) -> None:
    windows = ecg_like(3)
    scaled, usual = score_windows(windows * np.float32(factor)), score_windows(windows)
    np.testing.assert_array_equal(scaled.quality, usual.quality)
    np.testing.assert_allclose(scaled.psqi, usual.psqi, rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), noise=st.floats(0.01, 1), power=st.integers(-40, 40))
def test_scores_do_not_depend_on_the_scale(seed: int, noise: float, power: int) -> None:
    windows = ecg_like(4, noise=noise, seed=seed)
    # A power of two, so that the scaled samples are not rounded and equality is exact.
    assert_same(score_windows(windows * np.float32(2.0**power)), score_windows(windows))


@settings(max_examples=15, deadline=None)
@given(block=st.integers(1, 12), seed=st.integers(0, 1000))
def test_scores_do_not_depend_on_the_block_size(block: int, seed: int) -> None:
    windows = ecg_like(11, noise=0.3, seed=seed)
    expected = score_windows(windows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "BLOCK", block)
        assert_same(score_windows(windows), expected)


def test_windows_are_scored_each_by_itself_but_for_qsqi() -> None:
    windows = ecg_like(9, noise=0.3)
    whole = score_windows(windows)
    assert_same(score_windows(windows[4:7]), part(whole, slice(4, 7)), BY_ITSELF)


def test_the_windows_are_left_as_they_were() -> None:
    windows = ecg_like(2)
    before = windows.copy()
    score_windows(windows)
    np.testing.assert_array_equal(windows, before)
