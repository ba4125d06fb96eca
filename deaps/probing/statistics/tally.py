"""What a metric needs of each subject, so that it can be computed anew for any draw of subjects.

A tally belongs to one run: one representation trained with one seed, tested on some subjects.
It answers two questions without going back to the windows: what would the metric be if subject
i had come w[i] times (the bootstrap), and what would the difference of two runs be if they had
swapped their answers to some of the subjects (the permutation test).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
T = TypeVar("T", bound="Tally")


class Tally(ABC):
    """A metric of one run, by subject."""

    n_subjects: int

    @abstractmethod
    def values(self, weights: Floats) -> Floats:
        """Return the metric, (draws,), under the weights of the subjects, (draws, n).

        NaN where a draw leaves it undefined.
        """

    @abstractmethod
    def swapped(self, other: Tally, signs: Floats) -> Floats:
        """Return this metric less the other's, (flips,), after swaps, (flips, n).

        Where the sign is -1, the two have exchanged their answers to that subject.
        """

    def value(self) -> float:
        """Return the metric of all subjects, each counted once."""
        return float(self.values(np.ones((1, self.n_subjects)))[0])


class Means(Tally):
    """A mean over examples: sum of contributions / number of examples, over the subjects.

    With one contribution for each subject it is a plain mean over people, as in a benchmark
    that leaves one subject out.
    """

    def __init__(self, sums: ArrayLike, counts: ArrayLike | None = None) -> None:
        self.sums = np.asarray(sums, np.float64)
        self.n_subjects = len(self.sums)
        self.counts = np.ones(self.n_subjects) if counts is None else np.asarray(counts, float)

    @classmethod
    def of_examples(cls, values: ArrayLike, subject: ArrayLike, n_subjects: int) -> Means:
        """Return the mean over examples with a value and a subject's number, (m,) each."""
        number = np.asarray(subject, np.int64)
        sums = np.bincount(number, np.asarray(values, np.float64), minlength=n_subjects)
        return cls(sums, np.bincount(number, minlength=n_subjects))

    def values(self, weights: Floats) -> Floats:
        """Return sum of w s / sum of w c for each row of weights."""
        return ratio(weights @ self.sums, weights @ self.counts)

    def swapped(self, other: Tally, signs: Floats) -> Floats:
        """Return the differences after swaps: sum of sign (s - s') / sum of c."""
        other = same_kind(self, other)
        require_same(np.array_equal(self.counts, other.counts), "examples of a subject")
        return np.asarray(signs @ (self.sums - other.sums) / self.counts.sum())


class Confusions(Tally):
    """A metric of the confusion matrix, which is a sum over subjects."""

    def __init__(self, confusion: ArrayLike, metric: Callable[[Floats], Floats]) -> None:
        self.confusion = np.asarray(confusion, np.float64)
        self.metric = metric
        self.n_subjects = len(self.confusion)

    @classmethod
    def of_answers(
        cls,
        labels: ArrayLike,
        answers: ArrayLike,
        subject: ArrayLike,
        *,
        n_subjects: int,
        n_classes: int,
        metric: Callable[[Floats], Floats],
    ) -> Confusions:
        """Return the tally of labels, answers and the subject's number of examples, (m,) each.

        ``metric`` takes confusion matrices, (draws, k, k), as those of `metrics` do.
        """
        pair = np.asarray(labels, np.int64) * n_classes + np.asarray(answers, np.int64)
        cell = np.asarray(subject, np.int64) * n_classes**2 + pair
        counted = np.bincount(cell, minlength=n_subjects * n_classes**2)
        return cls(counted.reshape(n_subjects, n_classes, n_classes), metric)

    def values(self, weights: Floats) -> Floats:
        """Return the metric of the weighted sums of the matrices."""
        return self.metric(np.tensordot(weights, self.confusion, axes=1))

    def swapped(self, other: Tally, signs: Floats) -> Floats:
        """Return the differences of the metric after subjects' matrices have changed sides."""
        other = same_kind(self, other)
        tested = self.confusion.sum(axis=2), other.confusion.sum(axis=2)
        require_same(np.array_equal(*tested), "labels")
        moved = np.tensordot((1 - signs) / 2, other.confusion - self.confusion, axes=1)
        mine, theirs = self.confusion.sum(axis=0), other.confusion.sum(axis=0)
        return np.asarray(self.metric(mine + moved) - self.metric(theirs - moved))


class Averaged(Tally):
    """The mean of a metric over folds, or over draws of labels, that test the same subjects.

    The weights are the same in each: a subject who comes twice comes twice in all of them.
    """

    def __init__(self, parts: Sequence[Tally]) -> None:
        self.parts = tuple(parts)
        require_same(len({part.n_subjects for part in self.parts}) == 1, "number of subjects")
        self.n_subjects = self.parts[0].n_subjects

    def values(self, weights: Floats) -> Floats:
        """Return the mean over the parts; what a draw leaves undefined is left out."""
        return _mean_of_defined([part.values(weights) for part in self.parts])

    def swapped(self, other: Tally, signs: Floats) -> Floats:
        """Return the mean difference over the parts."""
        other = same_kind(self, other)
        pairs = zip(self.parts, other.parts, strict=True)
        return _mean_of_defined([mine.swapped(theirs, signs) for mine, theirs in pairs])


def _mean_of_defined(parts: Sequence[Floats]) -> Floats:
    values = np.stack(parts)
    defined = np.isfinite(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0))


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, NaN or infinite where the whole is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(part / whole)


def same_kind(mine: T, other: Tally) -> T:
    """Return the other tally as one of the same kind, which two runs of one metric are."""
    if not isinstance(other, type(mine)):
        raise TypeError(f"{type(mine).__name__} cannot be compared with {type(other).__name__}")
    return other


def require_same(same: bool, what: str) -> None:
    """Refuse to compare runs that were not tested on the same."""
    if not same:
        raise ValueError(f"two runs can be compared only if they have the same {what}")
