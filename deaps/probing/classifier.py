"""The one classifier of all benchmarks: a support vector machine on standardised features."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

_NOT_MAIN_THREAD = "'Threading' parallel backend is not supported"


@cache
def svc_class() -> type[Any]:
    """Return scikit-learn's SVC, in Intel's faster form where that is installed.

    Both solve the same problem; their predictions differ where a window lies on the border.
    """
    try:
        from daal4py import daalinit
        from sklearnex.svm import SVC
    except ImportError:
        from sklearn.svm import SVC

        return SVC
    # A worker has one core and says so; outside the main thread the library would take them all.
    if threads := os.environ.get("OMP_NUM_THREADS"):
        daalinit(int(threads))
    return SVC


def make_classifier(*, with_gaps: bool = False) -> Pipeline:
    """Return the classifier, not fitted: StandardScaler and SVC(C=1, gamma="scale").

    With gaps, unknown features (NaN) become the training side's medians first; one that is
    unknown in all of it becomes zero.
    """
    steps: list[Any] = [StandardScaler(), svc_class()(C=1.0, kernel="rbf", gamma="scale")]
    if with_gaps:
        steps.insert(0, SimpleImputer(strategy="median", keep_empty_features=True))
    return make_pipeline(*steps)


@contextmanager
def in_any_thread() -> Iterator[None]:
    """Silence the library's warning that it runs outside the main thread, as in a worker."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NOT_MAIN_THREAD)
        yield


def fit_predict(
    train: NDArray[np.floating], labels: NDArray[np.integer], test: NDArray[np.floating]
) -> NDArray[np.int8]:
    """Return the predicted labels of ``test``, (m, d), after fitting on ``train``, (n, d).

    A training side with one class alone predicts that class.
    """
    classes = np.unique(labels)
    if len(classes) == 1:
        return np.full(len(test), classes[0], np.int8)
    with_gaps = bool(np.isnan(train).any() or np.isnan(test).any())
    with in_any_thread():
        classifier = make_classifier(with_gaps=with_gaps).fit(train, labels)
        return np.asarray(classifier.predict(test), np.int8)
