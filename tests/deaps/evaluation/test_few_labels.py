"""Nested draws of annotated people."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from deaps.evaluation.examples import Examples, NotRunError, guarded
from deaps.evaluation.plan import nested_draws
from tests.deaps.evaluation.labelled_store import made_examples


def both_rhythms(train: int = 7, test: int = 10, each: int = 6) -> Examples:
    """Return people who have both classes, the last of the training side one alone."""
    subjects = [f"p{i:02d}" for i in range(train + test) for _ in range(each)]
    labels = np.tile(np.arange(each) % 2, train + test)
    labels[(train - 1) * each : train * each] = 0
    sides = np.repeat(["train", "test"], [train * each, test * each])
    return made_examples(labels.tolist(), subjects, sides=sides)


def one_class_each(train: int = 40, test: int = 9) -> Examples:
    """Return people of one class each, one in ten of the last class, as in the Challenge."""
    labels = [2 if i % 10 == 0 else i % 2 for i in range(train + test)]
    sides = np.repeat(["train", "test"], [train, test])
    return made_examples(labels, [f"A{i:03d}" for i in range(train + test)], sides=sides)


def test_people_are_doubled_up_to_all_of_them() -> None:
    draws = nested_draws(both_rhythms(), repeats=5)
    sizes, counts = np.unique([draw.n_people for draw in draws], return_counts=True)
    assert sizes.tolist() == [1, 2, 4, 7]
    assert counts.tolist() == [5, 5, 5, 1]


@pytest.mark.parametrize("examples", [both_rhythms(), one_class_each()])
def test_each_larger_draw_holds_the_smaller_ones(examples: Examples) -> None:
    draws = nested_draws(examples, repeats=3)
    for repeat in range(3):
        people = [draw.people for draw in draws if draw.repeat == repeat]
        assert all(large[: len(small)] == small for small, large in pairwise(people))


@pytest.mark.parametrize("examples", [both_rhythms(), one_class_each()])
def test_every_draw_has_all_classes(examples: Examples) -> None:
    for draw in nested_draws(examples, repeats=20):
        assert set(examples.labels[draw.fold.train]) == set(examples.labels)


def test_numbers_too_small_for_all_classes_are_left_out() -> None:
    assert min(draw.n_people for draw in nested_draws(one_class_each())) == 4


def test_a_draw_is_fitted_on_all_examples_of_its_people_and_tested_on_all_test_people() -> None:
    examples = both_rhythms()
    draws = nested_draws(examples, repeats=2)
    guarded(examples, [draw.fold for draw in draws])
    for draw in draws:
        assert set(examples.subjects[draw.fold.train]) == set(draw.people)
        assert len(draw.fold.train) == 6 * draw.n_people
        assert (examples.sides[draw.fold.test] == "test").all()
        assert len(draw.fold.test) == 60


def test_draws_depend_on_the_seed_alone_and_differ_from_repeat_to_repeat() -> None:
    first, again, other = (nested_draws(both_rhythms(), seed=seed) for seed in (1, 1, 2))
    assert [draw.people for draw in first] == [draw.people for draw in again]
    assert [draw.people for draw in first] != [draw.people for draw in other]
    assert len({draw.people for draw in first if draw.n_people == 2}) > 1


def test_an_empty_side_is_refused() -> None:
    with pytest.raises(NotRunError, match="one side is empty"):
        nested_draws(made_examples([0, 1], ["a", "b"]))
