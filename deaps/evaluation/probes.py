"""Probes: classifiers that ask frozen features for a label, behind one function each.

The paper's support vector machine is what the tables show. Two others say whether a result hangs
on it: logistic regression asks for a plane between the classes, nearest neighbours for
examples of a class that lie together.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

NEIGHBOURS = 20
"""As usual for frozen features (Wu et al., 2018; Caron et al., 2021); all where there are fewer."""


_NOT_MAIN_THREAD = "'Threading' parallel backend is not supported"


class Answers(NamedTuple):
    """What a probe says of the tested examples."""

    labels: NDArray[np.int8]
    """(m,)."""
    scores: NDArray[np.float64]
    """(m, k): how much each example looks like each class, higher being more. Of two classes,
    AUROC takes the second column. A class that the training side lacks has minus infinity."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A classifier on standardised features; what is unknown (NaN) becomes the training median."""

    name: str
    title: str
    make: Callable[[int], Any]
    """Return the estimator, not fitted, for so many training examples."""
    in_single_precision: bool = False
    """Whether the estimator is given standardised features in float32."""

    def fit_predict(
        self,
        train: NDArray[np.floating],
        labels: NDArray[np.integer],
        test: NDArray[np.floating],
        n_classes: int,
    ) -> Answers:
        """Return the answers to ``test``, (m, d), after fitting on ``train``, (n, d).

        ``labels``, (n,), are numbers from 0 to ``n_classes`` - 1. A training side with one class
        alone always answers that class, with equal scores.
        """
        classes = np.unique(labels)
        if len(classes) == 1:
            answers = np.full(len(test), classes[0], np.int8)
            return Answers(answers, _by_class(np.zeros((len(test), 1)), classes, n_classes))
        with_gaps = bool(np.isnan(train).any() or np.isnan(test).any())
        with in_any_thread():
            fitted = self._pipeline(len(train), with_gaps).fit(train, labels)
            return _answers(fitted, test, classes, n_classes)

    def _pipeline(self, n_examples: int, with_gaps: bool) -> Pipeline:
        steps: list[Any] = [StandardScaler(), self.make(n_examples)]
        if self.in_single_precision:
            steps.insert(1, FunctionTransformer(np.float32))
        if with_gaps:
            steps.insert(0, SimpleImputer(strategy="median", keep_empty_features=True))
        return make_pipeline(*steps)


def _answers(
    fitted: Pipeline, test: NDArray[np.floating], classes: NDArray[np.integer], n_classes: int
) -> Answers:
    """Return labels and scores; of two classes the label is the sign of one score.

    Asking a support vector machine twice costs as much as the answer. Of more classes its
    label goes by votes between pairs, which the scores do not decide.
    """
    scores = _scores(fitted, test)
    if len(classes) == 2:
        labels = classes[(scores > 0).astype(np.int64)]
        scores = np.stack([-scores, scores], axis=1)
    else:
        labels = fitted.predict(test)
    return Answers(labels.astype(np.int8), _by_class(scores, classes, n_classes))


def _scores(fitted: Pipeline, test: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the scores, (m, k), or of two classes how far the second is ahead, (m,)."""
    if hasattr(fitted, "decision_function"):
        return np.asarray(fitted.decision_function(test), np.float64)
    shares = np.asarray(fitted.predict_proba(test), np.float64)
    return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares


def _by_class(
    scores: NDArray[np.float64], classes: NDArray[np.integer], n_classes: int
) -> NDArray[np.float64]:
    spread = np.full((len(scores), n_classes), -np.inf)
    spread[:, classes] = scores
    return spread


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


@contextmanager
def in_any_thread() -> Iterator[None]:
    """Silence the library's warning that it runs outside the main thread, as in a worker."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NOT_MAIN_THREAD)
        yield


PROBES: dict[str, Probe] = {
    probe.name: probe
    for probe in (
        Probe(
            "svc",
            "support vector machine",
            lambda _: svc_class()(C=1.0, kernel="rbf", gamma="scale"),
            # Intel's form then takes 0.6 of the time; on real features 3 of 178,000 answers
            # changed.
            in_single_precision=True,
        ),
        Probe(
            "logistic",
            "logistic regression",
            lambda _: LogisticRegression(C=1.0, max_iter=2000),
        ),
        Probe(
            "neighbours",
            "nearest neighbours",
            # Nearer ones count more, or few neighbours would give few different scores.
            lambda n: KNeighborsClassifier(min(NEIGHBOURS, n), weights="distance"),
        ),
    )
}
"""All probes, by name; the first is the paper's."""
