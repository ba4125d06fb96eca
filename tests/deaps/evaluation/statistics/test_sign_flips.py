"""Permutation tests against every pattern tried by hand, and Holm's rule."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from deaps.evaluation.intervals import (
    EXACT_UP_TO,
    all_patterns,
    drawn_patterns,
    holm,
    sign_flip_test,
    smallest_p,
)
from deaps.evaluation.metrics import accuracy, mean_f1
from deaps.evaluation.tallies import Auroc, Averaged, Confusions, Means

RNG = np.random.default_rng(0)
N = 7


def by_brute_force(difference: np.ndarray) -> float:
    """Return the share of all 2**n sign patterns with a mean at least as far from 0."""
    means = [np.mean(np.array(signs) * difference) for signs in product((1, -1), repeat=N)]
    return float(np.mean(np.abs(means) >= abs(difference.mean()) - 1e-12))


@pytest.mark.parametrize("shift", [0.0, 0.4, 3.0])
def test_exact_p_of_means_equals_brute_force(shift: float) -> None:
    mine, theirs = RNG.standard_normal((3, N)) + shift, RNG.standard_normal((3, N))
    outcome = sign_flip_test([Means(x) for x in mine], [Means(x) for x in theirs])
    assert outcome.exact
    assert outcome.p == pytest.approx(by_brute_force(mine.mean(axis=0) - theirs.mean(axis=0)))


def answers(right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and answers of 7 subjects with 6 examples each."""
    labels = np.random.default_rng(5).integers(0, 3, 6 * N)
    wrong = RNG.random(6 * N) > right
    return labels, np.where(wrong, RNG.integers(0, 3, 6 * N), labels)


SUBJECT = np.repeat(np.arange(N), 6)


def test_exact_p_of_f1_equals_swapping_answers_by_hand() -> None:
    labels, mine = answers(0.8)
    _, theirs = answers(0.5)
    size = {"n_subjects": N, "n_classes": 3, "metric": mean_f1}
    a, b = (Confusions.of_answers(labels, x, SUBJECT, **size) for x in (mine, theirs))
    seen = []
    for swapped in product((False, True), repeat=N):
        away = np.array(swapped)[SUBJECT]
        first, second = np.where(away, theirs, mine), np.where(away, mine, theirs)
        scores = (f1_score(labels, x, average="macro") for x in (first, second))
        seen.append(next(scores) - next(scores))
    expected = np.mean(np.abs(seen) >= abs(seen[0]) - 1e-12)
    assert sign_flip_test([a], [b]).p == pytest.approx(expected)


@pytest.mark.parametrize("decimals", [9, 1], ids=["no ties", "ties"])
def test_exact_p_of_auroc_equals_swapping_ranks_by_hand(decimals: int) -> None:
    labels = np.random.default_rng(1).integers(0, 2, 6 * N)
    mine, theirs = (
        np.round(RNG.standard_normal(6 * N) + lift * labels, decimals) for lift in (1.5, 0.4)
    )
    a, b = Auroc(labels, mine, SUBJECT, N), Auroc(labels, theirs, SUBJECT, N)
    seen = []
    for swapped in product((False, True), repeat=N):
        away = np.array(swapped)[SUBJECT]
        first, second = np.where(away, b.ranks, a.ranks), np.where(away, a.ranks, b.ranks)
        seen.append(roc_auc_score(labels, first) - roc_auc_score(labels, second))
    expected = np.mean(np.abs(seen) >= abs(seen[0]) - 1e-12)
    assert seen[0] == pytest.approx(roc_auc_score(labels, mine) - roc_auc_score(labels, theirs))
    assert sign_flip_test([a], [b]).p == pytest.approx(expected)


def test_folds_are_swapped_together() -> None:
    mine, theirs = RNG.standard_normal((2, N)) + 1, RNG.standard_normal((2, N))
    a, b = (Averaged([Means(fold) for fold in folds]) for folds in (mine, theirs))
    expected = by_brute_force(mine.mean(axis=0) - theirs.mean(axis=0))
    assert sign_flip_test([a], [b]).p == pytest.approx(expected)


def test_unequal_numbers_of_seeds_compare_the_means_over_seeds() -> None:
    mine, theirs = RNG.standard_normal((5, N)), RNG.standard_normal((3, N))
    outcome = sign_flip_test([Means(x) for x in mine], [Means(x) for x in theirs])
    expected = by_brute_force(mine.mean(axis=0) - theirs.mean(axis=0))
    assert outcome.p == pytest.approx(expected)


def test_drawn_patterns_agree_with_all_of_them() -> None:
    difference = RNG.standard_normal(EXACT_UP_TO) + 0.4
    exact = sign_flip_test([Means(difference)], [Means(np.zeros(EXACT_UP_TO))])
    # One more subject without a difference changes no mean, and makes the test draw.
    longer = np.append(difference, 0.0)
    drawn = sign_flip_test([Means(longer)], [Means(np.zeros(EXACT_UP_TO + 1))], flips=20_000)
    assert exact.exact
    assert not drawn.exact
    assert drawn.p == pytest.approx(exact.p, abs=0.01)


def test_drawn_patterns_depend_on_the_seed_alone() -> None:
    first, again, other = (next(drawn_patterns(30, 100, seed)) for seed in (1, 1, 2))
    assert first.shape == (100, 30)
    assert set(first.ravel()) == {-1.0, 1.0}
    assert (first == again).all()
    assert (first != other).any()


def test_all_patterns_are_there_once_up_to_their_opposite() -> None:
    patterns = np.concatenate(list(all_patterns(5)))
    assert len({tuple(p) for p in patterns} | {tuple(-p) for p in patterns}) == 2**5
    assert (patterns[:, 0] == 1).all()


def test_equal_runs_have_a_p_of_one() -> None:
    run = Means(RNG.standard_normal(N))
    assert sign_flip_test([run], [run]).p == 1.0


def test_the_smallest_p_is_reached_when_all_subjects_agree() -> None:
    outcome = sign_flip_test([Means(np.arange(1.0, N + 1))], [Means(np.zeros(N))])
    assert outcome.p == smallest_p(N) == pytest.approx(0.0156, abs=1e-4)
    assert smallest_p(N, 5) == pytest.approx(0.078, abs=1e-3)


def test_runs_on_other_examples_are_refused() -> None:
    labels, mine = answers(0.8)
    size = {"n_subjects": N, "n_classes": 3, "metric": accuracy}
    a = Confusions.of_answers(labels, mine, SUBJECT, **size)
    b = Confusions.of_answers((labels + 1) % 3, mine, SUBJECT, **size)
    with pytest.raises(ValueError, match="same labels"):
        sign_flip_test([a], [b])
    with pytest.raises(TypeError, match="Confusions cannot be compared with Means"):
        sign_flip_test([a], [Means(np.zeros(N))])


def test_holm_multiplies_by_how_many_are_left_and_never_falls() -> None:
    adjusted = holm([0.04, 0.01, 0.03, 0.5])
    assert adjusted == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
