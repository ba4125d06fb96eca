import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from deaps.probing.classifier import fit_predict, svc_class


def overlapping(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    return rng.standard_normal((n, 16)) + 0.6 * labels[:, None], labels


def test_predictions_equal_plain_scikit_learn() -> None:
    (train, labels), (test, _) = overlapping(600, 0), overlapping(2000, 1)
    plain = make_pipeline(StandardScaler(), SVC(C=1, gamma="scale")).fit(train, labels)
    assert np.mean(fit_predict(train, labels, test) == plain.predict(test)) >= 0.999


def test_intels_form_is_used_where_it_is_installed() -> None:
    sklearnex = pytest.importorskip("sklearnex.svm")
    assert svc_class() is sklearnex.SVC


def test_one_class_alone_is_always_predicted() -> None:
    assert fit_predict(np.zeros((3, 2)), np.array([1, 1, 1]), np.ones((2, 2))).tolist() == [1, 1]


def test_unknown_features_become_the_training_sides_medians() -> None:
    train, labels = overlapping(200, 0)
    train[:50, 3] = np.nan
    filled = train.copy()
    filled[:50, 3] = np.nanmedian(train[:, 3])
    test, _ = overlapping(100, 1)
    assert (fit_predict(train, labels, test) == fit_predict(filled, labels, test)).all()
