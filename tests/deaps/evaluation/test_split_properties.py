"""Splits: for any people and labels, nobody stands on both sides, and the guard sees who does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deaps.evaluation.examples import Fold, guarded, leave_one_subject_out, subject_folds
from storage.errors import DeapsError
from tests.deaps.evaluation.labelled_store import made_examples

PEOPLE = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=6, max_size=60
)  # person and label of each example


@given(PEOPLE, st.integers(2, 4), st.integers(0, 2**31 - 1))
def test_no_fold_splits_a_person_and_each_example_is_tested_once(
    drawn: list[tuple[int, int]], n_folds: int, seed: int
) -> None:
    people, labels = (np.array(column) for column in zip(*drawn, strict=True))
    assume(all(len(set(people[labels == c])) >= n_folds for c in (0, 1)))
    examples = made_examples(labels.tolist(), [f"d/p{p}" for p in people])
    folds = guarded(examples, subject_folds(examples, n_folds, seed))
    tested = np.concatenate([fold.test for fold in folds])
    assert sorted(tested) == list(range(len(people)))


@given(PEOPLE)
def test_leaving_one_out_leaves_out_all_of_that_person(drawn: list[tuple[int, int]]) -> None:
    people, labels = (np.array(column) for column in zip(*drawn, strict=True))
    assume(len(set(people)) > 1)
    examples = made_examples(labels.tolist(), [f"d/p{p}" for p in people])
    for fold in guarded(examples, leave_one_subject_out(examples)):
        assert len(set(people[fold.test])) == 1
        assert not set(people[fold.test]) & set(people[fold.train])


@given(PEOPLE, st.data())
def test_guard_refuses_any_shared_person(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    people, labels = (np.array(column) for column in zip(*drawn, strict=True))
    examples = made_examples(labels.tolist(), [f"d/p{p}" for p in people])
    sides = st.lists(st.booleans(), min_size=len(people), max_size=len(people))
    on_test = np.array(data.draw(sides))
    assume(on_test.any() and not on_test.all())
    fold = Fold("drawn", np.flatnonzero(~on_test), np.flatnonzero(on_test))
    if set(people[on_test]) & set(people[~on_test]):
        with pytest.raises(DeapsError):
            guarded(examples, [fold])
    else:
        assert guarded(examples, [fold]) == (fold,)
