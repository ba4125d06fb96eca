"""Metrics of a classifier's answers: plain functions of labels, answers and decision scores.

The ones that need answers alone are functions of a confusion matrix with the true classes in
rows, C[t, p], or of a stack of them, (..., k, k): a bootstrap computes all its draws at once.
NaN stands for what is undefined.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def confusion_matrix(labels: ArrayLike, answers: ArrayLike, n_classes: int) -> NDArray[np.int64]:
    """Return how often each true class was answered as each, (k, k)."""
    cell = np.asarray(labels, np.int64) * n_classes + np.asarray(answers, np.int64)
    return np.bincount(cell, minlength=n_classes**2).reshape(n_classes, n_classes)


def accuracy(confusion: ArrayLike) -> Floats:
    """Return the share of right answers: trace(C) / sum(C)."""
    matrix = np.asarray(confusion, np.float64)
    return _ratio(_right(matrix).sum(axis=-1), matrix.sum(axis=(-2, -1)))


def recall(confusion: ArrayLike) -> Floats:
    """Return the share of each class that was found, (..., k): C[c, c] / sum over p of C[c, p]."""
    matrix = np.asarray(confusion, np.float64)
    return _ratio(_right(matrix), matrix.sum(axis=-1))


def precision(confusion: ArrayLike) -> Floats:
    """Return the share of right ones among each answer, (..., k): C[c, c] / sum over t of C[t, c].

    A class that is never answered has none (NaN).
    """
    matrix = np.asarray(confusion, np.float64)
    return _ratio(_right(matrix), matrix.sum(axis=-2))


def balanced_accuracy(confusion: ArrayLike) -> Floats:
    """Return the mean recall of the classes that occur: each class counts the same.

    Brodersen et al., 2010. For two classes it is (sensitivity + specificity) / 2.
    """
    return _mean_of_defined(recall(confusion))


def cohen_kappa(confusion: ArrayLike) -> Floats:
    """Return the agreement of answers and labels beyond chance: (p - e) / (1 - e).

    Cohen, 1960: p is the share of right answers, e the share that answers drawn at random with the
    same frequencies would have. NaN where e is 1: one class alone.
    """
    matrix = np.asarray(confusion, np.float64)
    total = matrix.sum(axis=(-2, -1))
    by_chance = (matrix.sum(axis=-1) * matrix.sum(axis=-2)).sum(axis=-1)
    expected = _ratio(by_chance, np.square(total))
    return _ratio(accuracy(matrix) - expected, 1 - expected)


def f1(confusion: ArrayLike) -> Floats:
    """Return the F1 of each class, (..., k): 2 C[c, c] / (row sum + column sum of c).

    The harmonic mean of recall and precision; a class that neither occurs nor is answered has
    none (NaN).
    """
    matrix = np.asarray(confusion, np.float64)
    return _ratio(2 * _right(matrix), matrix.sum(axis=-1) + matrix.sum(axis=-2))


def mean_f1(confusion: ArrayLike) -> Floats:
    """Return the mean F1 of the classes: the PhysioNet/CinC Challenge 2017's own score.

    Clifford et al., 2017: F1 = (F1n + F1a + F1o) / 3 over normal, AFib and other. Noisy
    recordings have no part in it: they are left out of the benchmark.
    """
    return _mean_of_defined(f1(confusion))


def auroc(labels: ArrayLike, scores: ArrayLike) -> float:
    """Return the area under the ROC curve of two classes, NaN where one is absent.

    The probability that a positive example has the higher score, ties counting half (Hanley
    and McNeil, 1982): (R - P (P + 1) / 2) / (P N) with R the sum of the P positives' midranks
    among all P + N.
    """
    positive = np.asarray(labels).astype(bool)
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return float("nan")
    rank_sum = midranks(scores)[positive].sum()
    return float((rank_sum - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def midranks(scores: ArrayLike) -> Floats:
    """Return each score's rank from 1, (n,); equal ones share the mean of theirs.

    Raises
    ------
    ValueError
        If a score is NaN, which has no rank.
    """
    values = np.asarray(scores, np.float64)
    if np.isnan(values).any():
        raise ValueError(f"{int(np.isnan(values).sum())} of {values.size} scores are NaN")
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], np.float64)


def _right(confusion: Floats) -> Floats:
    return np.diagonal(confusion, axis1=-2, axis2=-1)


def _ratio(part: Floats, whole: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(part / whole)


def _mean_of_defined(by_class: Floats) -> Floats:
    """Return the mean over the last axis, NaN left out; NaN where all are."""
    defined = np.isfinite(by_class)
    return _ratio(np.where(defined, by_class, 0.0).sum(axis=-1), defined.sum(axis=-1))
