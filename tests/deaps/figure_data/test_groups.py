"""Samples that leave no group out."""

from __future__ import annotations

import numpy as np
import pytest

from deaps.report.arrays import group_numbers, stratified_sample


def test_names_are_numbered_as_they_appear() -> None:
    assert group_numbers(["b", ("a", 1), "b", "c"]).tolist() == [0, 1, 0, 2]


def test_every_group_is_in_the_sample_however_small() -> None:
    groups = np.array([0] * 1000 + [1] * 2 + [2])
    assert set(groups[stratified_sample(groups, 10, seed=0)]) == {0, 1, 2}


def test_large_groups_are_drawn_in_proportion() -> None:
    groups = np.repeat([0, 1, 2], [6000, 3000, 1000])
    drawn = np.bincount(groups[stratified_sample(groups, 500, seed=1)])
    np.testing.assert_allclose(drawn, [300, 150, 50], atol=2)


def test_members_are_drawn_once_and_in_order() -> None:
    drawn = stratified_sample(np.arange(300) % 7, 50, seed=3)
    assert len(set(drawn.tolist())) == 50
    assert (np.diff(drawn) > 0).all()


@pytest.mark.parametrize("n", [3, 5])
def test_few_members_are_all_taken(n: int) -> None:
    assert stratified_sample(np.array([1, 0, 1]), n, seed=0).tolist() == [0, 1, 2]


def test_with_more_groups_than_places_no_group_comes_twice() -> None:
    groups = np.arange(100) % 40
    drawn = groups[stratified_sample(groups, 15, seed=0)]
    assert len(set(drawn.tolist())) == 15


def test_another_seed_draws_other_members() -> None:
    groups = np.zeros(1000, np.int64)
    assert (stratified_sample(groups, 9, seed=0) != stratified_sample(groups, 9, seed=1)).any()
