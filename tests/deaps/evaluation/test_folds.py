import numpy as np
import pytest

from deaps.evaluation.examples import NotRunError, few_labels, leave_one_subject_out, subject_folds
from tests.deaps.evaluation.labelled_store import made_examples

SUBJECTS = [f"d/{name}" for name in "aabbccddee"]
EXAMPLES = made_examples([0, 1] * 5, SUBJECTS)


def test_each_subject_is_left_out_once() -> None:
    folds = leave_one_subject_out(EXAMPLES)
    assert [fold.name for fold in folds] == ["a", "b", "c", "d", "e"]
    assert [fold.test.tolist() for fold in folds] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert all(len(fold.train) == 8 for fold in folds)


def test_subject_folds_test_every_example_once_and_split_no_subject() -> None:
    folds = subject_folds(EXAMPLES, 5, seed=0)
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(10))
    for fold in folds:
        assert not set(EXAMPLES.subjects[fold.train]) & set(EXAMPLES.subjects[fold.test])


def test_subject_folds_depend_on_the_seed_alone() -> None:
    first, again, other = (subject_folds(EXAMPLES, 5, seed=seed) for seed in (1, 1, 2))
    assert all((a.test == b.test).all() for a, b in zip(first, again, strict=True))
    assert any((a.test != b.test).any() for a, b in zip(first, other, strict=True))


def test_few_labels_are_fitted_on_equally_many_of_each_class() -> None:
    folds = few_labels(EXAMPLES, 2, draws=4, seed=0)
    assert len({tuple(fold.train) for fold in folds}) > 1
    for fold in folds:
        assert np.bincount(EXAMPLES.labels[fold.train]).tolist() == [2, 2]
        assert len(fold.test) == 6


@pytest.mark.parametrize(
    "split",
    [
        lambda e: leave_one_subject_out(e.keep(e.subjects == "d/a")),
        lambda e: subject_folds(e, 6, seed=0),
        lambda e: subject_folds(e.keep(e.labels <= (e.subjects == "d/a")), 5, seed=0),
        lambda e: few_labels(e, 5, draws=1, seed=0),
    ],
)
def test_too_few_examples_say_so(split) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotRunError, match="there are"):
        split(EXAMPLES)
