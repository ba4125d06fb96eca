"""Each metric against scikit-learn, which computes it independently."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn import metrics as reference

from deaps.evaluation.metrics import (
    accuracy,
    balanced_accuracy,
    confusion_matrix,
    f1,
    mean_f1,
    precision,
    recall,
)
from deaps.evaluation.tallies import Auroc

RNG = np.random.default_rng(0)
LABELS = RNG.choice(3, 400, p=[0.6, 0.1, 0.3])
ANSWERS = np.where(RNG.random(400) < 0.6, LABELS, RNG.integers(0, 3, 400))
CONFUSION = confusion_matrix(LABELS, ANSWERS, 3)


def test_confusion_has_the_true_classes_in_rows() -> None:
    np.testing.assert_array_equal(CONFUSION, reference.confusion_matrix(LABELS, ANSWERS))


def test_confusion_keeps_classes_that_never_occur() -> None:
    assert confusion_matrix([0, 1], [1, 1], 3).tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (accuracy, reference.accuracy_score),
        (balanced_accuracy, reference.balanced_accuracy_score),
        (mean_f1, lambda t, p: reference.f1_score(t, p, average="macro")),
        (recall, lambda t, p: reference.recall_score(t, p, average=None)),
        (precision, lambda t, p: reference.precision_score(t, p, average=None)),
        (f1, lambda t, p: reference.f1_score(t, p, average=None)),
    ],
)
def test_metrics_of_a_confusion_equal_scikit_learn(
    ours: Callable[..., np.ndarray], theirs: Callable[..., np.ndarray]
) -> None:
    np.testing.assert_allclose(ours(CONFUSION), theirs(LABELS, ANSWERS))


@pytest.mark.parametrize("metric", [accuracy, balanced_accuracy, mean_f1, recall, precision])
def test_a_stack_of_confusions_is_measured_one_by_one(
    metric: Callable[..., np.ndarray],
) -> None:
    stack = np.stack([CONFUSION, np.eye(3), CONFUSION.T])
    np.testing.assert_allclose(metric(stack), [metric(matrix) for matrix in stack])


def test_balanced_accuracy_leaves_out_classes_that_do_not_occur() -> None:
    labels, answers = [0, 0, 2, 2], [0, 2, 2, 2]
    expected = reference.balanced_accuracy_score(labels, answers)
    assert balanced_accuracy(confusion_matrix(labels, answers, 3)) == pytest.approx(expected)


def test_a_class_that_is_never_answered_has_no_precision_and_an_f1_of_zero() -> None:
    confusion = confusion_matrix([0, 1], [0, 0], 2)
    assert np.isnan(precision(confusion)[1])
    assert f1(confusion)[1] == 0


def test_mean_f1_leaves_out_a_class_that_neither_occurs_nor_is_answered() -> None:
    confusion = confusion_matrix([0, 0, 1], [0, 1, 1], 3)
    assert mean_f1(confusion) == pytest.approx(2 / 3)


def test_nothing_at_all_has_no_figure() -> None:
    assert np.isnan([accuracy(np.zeros((2, 2))), mean_f1(np.zeros((2, 2)))]).all()


def area(labels: np.ndarray, scores: np.ndarray) -> float:
    return Auroc(labels, scores, np.zeros(len(labels), int), 1).value()


@pytest.mark.parametrize("decimals", [12, 1, 0], ids=["no ties", "ties", "many ties"])
def test_auroc_equals_scikit_learn(decimals: int) -> None:
    labels = RNG.integers(0, 2, 300)
    scores = np.round(RNG.standard_normal(300) + 0.7 * labels, decimals)
    assert area(labels, scores) == pytest.approx(reference.roc_auc_score(labels, scores))


def test_auroc_depends_on_the_order_of_scores_alone() -> None:
    labels, scores = RNG.integers(0, 2, 50), RNG.standard_normal(50)
    assert area(labels, np.exp(scores)) == area(labels, scores)
    assert area(labels, -scores) == pytest.approx(1 - area(labels, scores))


@pytest.mark.parametrize("label", [0, 1])
def test_auroc_of_one_class_alone_is_undefined(label: int) -> None:
    assert np.isnan(area(np.array([label] * 3), np.array([1.0, 2.0, 3.0])))


def test_a_score_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="1 of 2 scores are NaN"):
        area(np.array([0, 1]), np.array([0.0, np.nan]))
