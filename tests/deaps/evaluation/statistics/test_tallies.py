"""Metrics under weights against the same metrics on samples in which subjects really repeat."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from deaps.evaluation import metrics, tallies
from deaps.evaluation.tallies import Auroc, Averaged, Confusions, Means, Tally, count_wins

RNG = np.random.default_rng(0)
N, M = 9, 200
SUBJECT = RNG.integers(0, N, M)
LABELS = RNG.integers(0, 2, M)
SCORES = np.round(RNG.standard_normal(M) + LABELS, 1)
ANSWERS = (SCORES > 0.4).astype(int)
WEIGHTS = RNG.multinomial(N, np.full(N, 1 / N), size=20).astype(float)


def repeated(weights: np.ndarray) -> np.ndarray:
    """Return the examples of a sample in which each subject comes as often as drawn."""
    return np.repeat(np.arange(M), weights[SUBJECT].astype(int))


def confusions(metric: Callable[..., np.ndarray]) -> Confusions:
    return Confusions.of_answers(LABELS, ANSWERS, SUBJECT, n_subjects=N, n_classes=2, metric=metric)


def of_confusion(metric: Callable[..., np.ndarray]) -> Callable[[np.ndarray], float]:
    return lambda at: float(metric(metrics.confusion_matrix(LABELS[at], ANSWERS[at], 2)))


@pytest.mark.parametrize(
    ("tally", "plain"),
    [
        (Auroc(LABELS, SCORES, SUBJECT, N), lambda at: roc_auc_score(LABELS[at], SCORES[at])),
        (Means.of_examples(SCORES, SUBJECT, N), lambda at: SCORES[at].mean()),
        (confusions(metrics.accuracy), of_confusion(metrics.accuracy)),
        (confusions(metrics.balanced_accuracy), of_confusion(metrics.balanced_accuracy)),
        (confusions(metrics.mean_f1), of_confusion(metrics.mean_f1)),
        (
            confusions(lambda c: metrics.recall(c)[..., 1]),
            of_confusion(lambda c: metrics.recall(c)[1]),
        ),
    ],
    ids=["auroc", "mean", "accuracy", "balanced accuracy", "f1", "recall"],
)
def test_weights_equal_repeating_subjects(
    tally: Tally, plain: Callable[[np.ndarray], float]
) -> None:
    expected = [plain(repeated(weights)) for weights in WEIGHTS]
    np.testing.assert_allclose(tally.values(WEIGHTS), expected)
    assert tally.value() == pytest.approx(plain(np.arange(M)))


def test_auroc_of_a_draw_with_one_class_alone_is_undefined() -> None:
    tally = Auroc([1, 0, 1], [0.1, 0.2, 0.3], [0, 1, 2], 3)
    values = tally.values(np.array([[3.0, 0, 0], [1, 1, 1]]))
    assert np.isnan(values[0])
    assert values[1] == 0.5


def test_auroc_of_many_subjects_is_counted_block_by_block() -> None:
    n = 150
    subject = RNG.integers(0, n, 2000)
    labels, scores = RNG.integers(0, 2, 2000), np.round(RNG.standard_normal(2000), 2)
    wins = Auroc(labels, scores, subject, n).wins
    i, j = 3, 140
    pairs = np.subtract.outer(
        scores[(subject == i) & (labels == 1)], scores[(subject == j) & (labels == 0)]
    )
    assert wins[i, j] == (pairs > 0).sum() + (pairs == 0).sum() / 2
    assert wins.sum() / ((labels == 1).sum() * (labels == 0).sum()) == pytest.approx(
        roc_auc_score(labels, scores)
    )


def test_auroc_of_many_subjects_with_few_examples_is_the_same_without_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n = 150
    subject = np.concatenate([np.arange(n), RNG.integers(0, n, 50)])
    labels, scores = RNG.integers(0, 2, n + 50), np.round(RNG.standard_normal(n + 50), 1)
    tally = Auroc(labels, scores, subject, n)
    weights = RNG.multinomial(n, np.full(n, 1 / n), size=30).astype(float)
    monkeypatch.setattr(tallies, "_CELLS_AT_ONCE", 1000)  # some draws at a time
    values = tally.values(weights)
    assert "wins" not in vars(tally)
    won = ((weights @ tally.wins) * weights).sum(axis=1)
    np.testing.assert_array_equal(
        values, won / ((weights @ tally.positives) * (weights @ tally.negatives))
    )


def test_auroc_of_as_many_subjects_as_the_challenge_takes_little_memory() -> None:
    n = 8000
    labels, scores = np.arange(n) % 2, RNG.standard_normal(n)
    tally = Auroc(labels, scores, np.arange(n), n)
    weights = np.ones((200, n))
    tracemalloc.start()
    tally.values(weights)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # the table alone would be 512 MB


def test_no_positive_wins_nothing() -> None:
    nobody, somebody = np.empty(0), np.array([0.3])
    assert not count_wins(nobody, np.empty(0, int), somebody, np.array([1]), 2).any()
    assert not count_wins(somebody, np.array([1]), nobody, np.empty(0, int), 2).any()


def test_folds_are_averaged_with_the_same_weights() -> None:
    first, second = RNG.standard_normal((2, N))
    tally = Averaged([Means(first), Means(second)])
    np.testing.assert_allclose(tally.values(WEIGHTS), WEIGHTS @ (first + second) / 2 / N)


def test_a_fold_that_no_drawn_subject_stands_in_is_left_out() -> None:
    folds = Averaged([Means([1.0, 0.0], [1, 0]), Means([0.0, 5.0], [0, 1])])
    assert folds.values(np.array([[2.0, 0.0], [1.0, 1.0]])).tolist() == [1.0, 3.0]


def flipped(tally: Tally) -> Tally:
    """Return the same metric of the opposite answers."""
    if isinstance(tally, Auroc):
        return Auroc(LABELS, -SCORES, SUBJECT, N)
    if isinstance(tally, Means):
        return Means(-tally.sums, tally.counts)
    assert isinstance(tally, Confusions)
    return Confusions(tally.confusion[:, :, ::-1], tally.metric)


@pytest.mark.parametrize(
    "tally",
    [
        Auroc(LABELS, SCORES, SUBJECT, N),
        Means.of_examples(SCORES, SUBJECT, N),
        confusions(metrics.mean_f1),
    ],
    ids=["auroc", "mean", "f1"],
)
def test_without_a_swap_the_difference_is_that_of_the_values(tally: Tally) -> None:
    other = flipped(tally)
    difference = tally.value() - other.value()
    nobody, everybody = np.ones((1, N)), -np.ones((1, N))
    assert tally.swapped(other, nobody) == pytest.approx([difference])
    assert tally.swapped(other, everybody) == pytest.approx([-difference])
