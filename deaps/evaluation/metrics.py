"""Metrics of a classifier's answers: formulas, and the table of what is reported and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deaps.evaluation.tallies import (
    Auroc,
    Averaged,
    Confusions,
    Floats,
    Means,
    Tally,
    mean_of_defined,
    ratio,
)

if TYPE_CHECKING:
    from deaps.evaluation.examples import Examples, Fold
    from deaps.evaluation.probes import Answers


def confusion_matrix(labels: ArrayLike, answers: ArrayLike, n_classes: int) -> NDArray[np.int64]:
    """Return how often each true class was answered as each, (k, k)."""
    cell = np.asarray(labels, np.int64) * n_classes + np.asarray(answers, np.int64)
    return np.bincount(cell, minlength=n_classes**2).reshape(n_classes, n_classes)


def accuracy(confusion: ArrayLike) -> Floats:
    """Return the share of right answers: trace(C) / sum(C)."""
    matrix = np.asarray(confusion, np.float64)
    return ratio(_right(matrix).sum(axis=-1), matrix.sum(axis=(-2, -1)))


def recall(confusion: ArrayLike) -> Floats:
    """Return the share of each class that was found, (..., k): C[c, c] / sum over p of C[c, p]."""
    matrix = np.asarray(confusion, np.float64)
    return ratio(_right(matrix), matrix.sum(axis=-1))


def precision(confusion: ArrayLike) -> Floats:
    """Return the share of right ones among each answer, (..., k): C[c, c] / sum over t of C[t, c].

    A class that is never answered has none (NaN).
    """
    matrix = np.asarray(confusion, np.float64)
    return ratio(_right(matrix), matrix.sum(axis=-2))


def balanced_accuracy(confusion: ArrayLike) -> Floats:
    """Return the mean recall of the classes that occur: each class counts the same.

    Brodersen et al., 2010. For two classes it is (sensitivity + specificity) / 2.
    """
    return mean_of_defined(recall(confusion))


def cohen_kappa(confusion: ArrayLike) -> Floats:
    """Return the agreement of answers and labels beyond chance: (p - e) / (1 - e).

    Cohen, 1960: p is the share of right answers, e the share that answers drawn at random with the
    same frequencies would have. NaN where e is 1: one class alone.
    """
    matrix = np.asarray(confusion, np.float64)
    total = matrix.sum(axis=(-2, -1))
    by_chance = (matrix.sum(axis=-1) * matrix.sum(axis=-2)).sum(axis=-1)
    expected = ratio(by_chance, np.square(total))
    return ratio(accuracy(matrix) - expected, 1 - expected)


def f1(confusion: ArrayLike) -> Floats:
    """Return the F1 of each class, (..., k): 2 C[c, c] / (row sum + column sum of c).

    The harmonic mean of recall and precision; a class that neither occurs nor is answered has
    none (NaN).
    """
    matrix = np.asarray(confusion, np.float64)
    return ratio(2 * _right(matrix), matrix.sum(axis=-1) + matrix.sum(axis=-2))


def mean_f1(confusion: ArrayLike) -> Floats:
    """Return the mean F1 of the classes: the PhysioNet/CinC Challenge 2017's own score.

    Clifford et al., 2017: F1 = (F1n + F1a + F1o) / 3 over normal, AFib and other. Noisy
    recordings have no part in it: they are left out of the benchmark.
    """
    return mean_of_defined(f1(confusion))


def _right(confusion: Floats) -> Floats:
    return np.diagonal(confusion, axis1=-2, axis2=-1)


@dataclass(frozen=True, slots=True)
class Tested:
    """The tested examples of one fold: true classes, numbers of subjects, and answers."""

    labels: NDArray[np.int8]
    subject: NDArray[np.int64]
    answers: Answers


@dataclass(frozen=True, slots=True)
class Run:
    """All tested folds of one run; subjects are numbered through from 0."""

    folds: tuple[Tested, ...]
    n_subjects: int
    n_classes: int
    confusion: Floats
    """By subject, (n, k, k)."""

    @property
    def leaves_one_out(self) -> bool:
        """Whether each fold tests one subject, and each subject once."""
        one_each = all(len(np.unique(fold.subject)) == 1 for fold in self.folds)
        return len(self.folds) == self.n_subjects > 1 and one_each


def _accuracy(run: Run) -> Tally:
    """Return the mean over folds; where each fold tests one subject, over subjects."""
    means = [
        Means.of_examples(fold.answers.labels == fold.labels, fold.subject, run.n_subjects)
        for fold in run.folds
    ]
    if run.leaves_one_out:
        return Means(sum(mean.sums for mean in means) / sum(mean.counts for mean in means))
    return means[0] if len(means) == 1 else Averaged(means)


def _auroc(run: Run) -> Tally | None:
    """Return the mean over folds, None unless both of two classes are tested.

    Where each fold tests one subject, who may have one class, all folds' scores are ranked
    together.
    """
    labels = np.concatenate([fold.labels for fold in run.folds])
    if not run.n_classes == len(np.unique(labels)) == 2:
        return None
    if run.leaves_one_out:
        scores = np.concatenate([fold.answers.scores[:, 1] for fold in run.folds])
        subject = np.concatenate([fold.subject for fold in run.folds])
        return Auroc(labels, scores, subject, run.n_subjects)
    by_fold = [
        Auroc(fold.labels, fold.answers.scores[:, 1], fold.subject, run.n_subjects)
        for fold in run.folds
    ]
    return by_fold[0] if len(by_fold) == 1 else Averaged(by_fold)


def _of_confusion(formula: Callable[[Floats], Floats], run: Run) -> Tally:
    """Return a metric of the confusion matrix over all folds."""
    return Confusions(run.confusion, formula)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by which representations are compared; of all of them more is better."""

    name: str
    """In the document and in the index."""
    title: str
    """For people."""
    tally: Callable[[Run], Tally | None]
    """What it needs of every subject; None where a run leaves it undefined."""
    low: float = 0.0
    high: float = 1.0
    everywhere: bool = True
    """Whether every benchmark reports it; else those that name it in `Benchmark.metrics`."""
    followed: bool = False
    """Whether it is followed along the steps of a training."""
    in_words: bool = False
    """Whether the report names in words the significant differences by it."""


METRICS = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", _accuracy, followed=True),
        Metric("balanced accuracy", "balanced accuracy", partial(_of_confusion, balanced_accuracy)),
        Metric("auroc", "AUROC", _auroc, followed=True, in_words=True),
        Metric("f1", "mean F1", partial(_of_confusion, mean_f1), everywhere=False, in_words=True),
        Metric(
            "kappa", "Cohen's kappa", partial(_of_confusion, cohen_kappa), low=-1, everywhere=False
        ),
    )
}
"""Every metric by which representations are compared, in the order of the tables."""


def metric_title(name: str) -> str:
    """Return a metric's name for people; ``recall CLASS`` and the like are their own."""
    return METRICS[name].title if name in METRICS else name


def metric_bounds(name: str) -> tuple[float, float]:
    """Return the smallest and the largest value that a metric can have."""
    return (METRICS[name].low, METRICS[name].high) if name in METRICS else (0.0, 1.0)


def subjects_tested(examples: Examples, folds: Sequence[Fold]) -> NDArray[np.str_]:
    """Return who is tested, (n,), in the order of the tallies."""
    return np.unique(np.concatenate([examples.subjects[fold.test] for fold in folds]))


def tally_folds(
    examples: Examples,
    folds: Sequence[Fold],
    answers: Sequence[Answers],
    classes: Sequence[str],
    *,
    extra: Sequence[str] = (),
) -> dict[str, Tally]:
    """Return a run's tallies by metric, from its answers to each fold's test side.

    With the metrics of `METRICS`, those that are not reported everywhere only if ``extra`` names
    them, come ``recall CLASS`` and ``precision CLASS``.
    """
    people = subjects_tested(examples, folds)
    tested = tuple(
        Tested(examples.labels[f.test], np.searchsorted(people, examples.subjects[f.test]), a)
        for f, a in zip(folds, answers, strict=True)
    )
    together = Confusions.of_answers(
        np.concatenate([fold.labels for fold in tested]),
        np.concatenate([fold.answers.labels for fold in tested]),
        np.concatenate([fold.subject for fold in tested]),
        n_subjects=len(people),
        n_classes=len(classes),
        metric=balanced_accuracy,
    )
    run = Run(tested, len(people), len(classes), together.confusion)
    found = {
        metric.name: metric.tally(run)
        for metric in METRICS.values()
        if metric.everywhere or metric.name in extra
    }
    for number, name in enumerate(classes):
        found[f"recall {name}"] = _of_confusion(partial(_of_class, recall, number), run)
        found[f"precision {name}"] = _of_confusion(partial(_of_class, precision, number), run)
    return {name: tally for name, tally in found.items() if tally is not None}


def _of_class(formula: Callable[[Floats], Floats], number: int, confusion: Floats) -> Floats:
    return np.asarray(formula(confusion)[..., number])
