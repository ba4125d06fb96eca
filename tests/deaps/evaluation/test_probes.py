"""Probes against plain scikit-learn, and on training sides that lack something."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from deaps.config import BenchmarkSettings
from deaps.evaluation.probes import PROBES, svc_class

PLAIN = {
    "svc": lambda: SVC(C=1, gamma="scale"),
    "logistic": lambda: LogisticRegression(max_iter=2000),
    "neighbours": lambda: KNeighborsClassifier(20, weights="distance"),
}


def test_the_setting_offers_every_probe() -> None:
    assert BenchmarkSettings(probes=tuple(PROBES)).probes == tuple(PROBES)  # type: ignore[arg-type]
    assert BenchmarkSettings().probes == tuple(PROBES)


def overlapping(n: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, n)
    return rng.standard_normal((n, 16)) * 3 + 1.5 * labels[:, None], labels


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", PROBES)
def test_labels_and_scores_equal_plain_scikit_learn(name: str, classes: int) -> None:
    (train, labels), (test, _) = overlapping(300, classes, 0), overlapping(500, classes, 1)
    answers = PROBES[name].fit_predict(train, labels, test, classes)
    plain = make_pipeline(StandardScaler(), PLAIN[name]()).fit(train, labels)
    assert np.mean(answers.labels == plain.predict(test)) >= 0.998
    assert answers.scores.shape == (500, classes)
    if name == "neighbours":
        shares = plain.predict_proba(test)
        expected = shares - shares[:, ::-1] if classes == 2 else shares
    else:
        decided = plain.decision_function(test)
        expected = np.stack([-decided, decided], axis=1) if classes == 2 else decided
    np.testing.assert_allclose(answers.scores, expected, atol=2e-2)


@pytest.mark.parametrize("name", PROBES)
def test_features_far_from_zero_keep_their_digits(name: str) -> None:
    (train, labels), (test, _) = overlapping(300, 2, 0), overlapping(500, 2, 1)
    near = PROBES[name].fit_predict(train, labels, test, 2)
    far = PROBES[name].fit_predict(train + 1e7, labels, test + 1e7, 2)
    np.testing.assert_array_equal(far.labels, near.labels)
    np.testing.assert_allclose(far.scores, near.scores, atol=1e-3)


def test_intels_form_is_used_where_it_is_installed() -> None:
    sklearnex = pytest.importorskip("sklearnex.svm")
    assert svc_class() is sklearnex.SVC


@pytest.mark.parametrize("name", PROBES)
def test_scores_rank_the_second_class_higher(name: str) -> None:
    (train, labels), (test, truth) = overlapping(300, 2, 0), overlapping(500, 2, 1)
    scores = PROBES[name].fit_predict(train, labels, test, 2).scores
    assert roc_auc_score(truth, scores[:, 1]) > 0.8
    assert roc_auc_score(truth, scores[:, 0]) < 0.2


@pytest.mark.parametrize("name", PROBES)
def test_one_class_alone_is_always_answered_and_ranks_nothing(name: str) -> None:
    answers = PROBES[name].fit_predict(np.zeros((3, 2)), np.array([1, 1, 1]), np.ones((4, 2)), 2)
    assert answers.labels.tolist() == [1] * 4
    assert roc_auc_score([0, 1, 0, 1], answers.scores[:, 1]) == 0.5


@pytest.mark.parametrize("name", PROBES)
def test_a_class_that_training_lacks_is_never_answered(name: str) -> None:
    (train, labels), (test, _) = overlapping(60, 2, 0), overlapping(20, 3, 1)
    answers = PROBES[name].fit_predict(train, 2 * labels, test, 3)
    assert set(answers.labels) <= {0, 2}
    assert (answers.scores[:, 1] == -np.inf).all()
    assert np.isfinite(answers.scores[:, [0, 2]]).all()


@pytest.mark.parametrize("name", PROBES)
def test_two_examples_are_enough_to_fit_on(name: str) -> None:
    train, test = np.array([[0.0], [1.0]]), np.array([[-0.1], [1.1]])
    assert PROBES[name].fit_predict(train, np.array([0, 1]), test, 2).labels.tolist() == [0, 1]


@pytest.mark.parametrize("name", PROBES)
def test_unknown_features_become_the_training_sides_medians(name: str) -> None:
    (train, labels), (test, _) = overlapping(200, 2, 0), overlapping(50, 2, 1)
    train[:50, 3] = np.nan
    filled = train.copy()
    filled[:50, 3] = np.nanmedian(train[:, 3])
    with_gaps, whole = (PROBES[name].fit_predict(x, labels, test, 2) for x in (train, filled))
    np.testing.assert_allclose(with_gaps.scores, whole.scores)
