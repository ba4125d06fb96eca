"""qSQI of beat lists made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preprocessing.quality import agreement

BEATS = np.arange(100, 3000, 90)
TOLERANCE = 15


def qsqi(first: list[int], second: list[int], n_windows: int = 1) -> list[float]:
    one, other = (np.array(beats, dtype=np.intp) for beats in (first, second))
    return agreement(one, other, n_windows, tolerance=TOLERANCE).tolist()


def test_identical_detectors_agree_wholly() -> None:
    assert agreement(BEATS, BEATS, 3, tolerance=TOLERANCE).tolist() == [1, 1, 1]


def test_disjoint_detectors_do_not_agree() -> None:
    assert agreement(BEATS, BEATS + 45, 3, tolerance=TOLERANCE).tolist() == [0, 0, 0]


def test_agreement_is_zero_where_no_detector_finds_a_beat() -> None:
    assert qsqi([], [], 2) == [0, 0]


def test_agreement_is_zero_where_one_detector_finds_nothing() -> None:
    assert qsqi([200, 300], []) == qsqi([], [200, 300]) == [0]


def test_beats_match_up_to_the_tolerance_and_not_beyond() -> None:
    assert qsqi([200, 500], [215, 516]) == [pytest.approx(1 / 3)]


def test_a_beat_has_one_partner_only() -> None:
    assert qsqi([200], [190, 210]) == [pytest.approx(1 / 2)]


def test_the_nearest_beat_is_the_partner() -> None:
    assert qsqi([200, 400], [188, 201, 400]) == [pytest.approx(2 / 3)]


def test_a_pair_across_a_border_counts_once_for_the_first_detectors_window() -> None:
    assert qsqi([995], [1003], 2) == [1, 0]


@pytest.mark.parametrize("place", [0, 30, 45, 985, 999])
def test_a_lone_beat_on_the_edge_of_a_window_is_no_disagreement(place: int) -> None:
    assert qsqi([300, 600], sorted([300, 600, place])) == [1]


@pytest.mark.parametrize("place", [46, 500, 984])
def test_a_lone_beat_inside_a_window_is_a_disagreement(place: int) -> None:
    assert qsqi([300, 600], sorted([300, 600, place])) == [pytest.approx(2 / 3)]


@given(
    first=st.sets(st.integers(0, 4999), max_size=60),
    second=st.sets(st.integers(0, 4999), max_size=60),
)
def test_agreement_is_a_share_and_matches_a_loop_over_pairs(
    first: set[int], second: set[int]
) -> None:
    got = qsqi(sorted(first), sorted(second), 5)
    assert got == pytest.approx(by_loop(sorted(first), sorted(second), 5))


def by_loop(first: list[int], second: list[int], n_windows: int) -> list[float]:
    pairs = {}
    for beat in first:
        nearest = min(second, key=lambda other: (abs(other - beat), other), default=None)
        if nearest is None or abs(nearest - beat) > TOLERANCE:
            continue
        if min(first, key=lambda one: (abs(one - nearest), one)) == beat:
            pairs[beat] = nearest
    lone = [b for b in first if b not in pairs] + [b for b in second if b not in pairs.values()]
    lone = [beat for beat in lone if 45 < beat % 1000 < 985]
    shares = []
    for window in range(n_windows):
        matched = sum(beat // 1000 == window for beat in pairs)
        found = matched + sum(beat // 1000 == window for beat in lone)
        shares.append(matched / found if found else 0.0)
    return shares
