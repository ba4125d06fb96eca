"""Tallies: a metric of one run kept by subject, so that any draw of subjects gives its value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
T = TypeVar("T", bound="Tally")

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
"""Of equal scores: where they begin and where they end. The mean of both counts ties half."""

_OWNERS_AT_ONCE = 64
"""Subjects whose negatives are counted in one table: it stays in the cache."""

_CELLS_AT_ONCE = 2**20
"""Draws times negative examples whose running counts are held at once."""


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
        return mean_of_defined(np.stack([part.values(weights) for part in self.parts], axis=-1))

    def swapped(self, other: Tally, signs: Floats) -> Floats:
        """Return the mean difference over the parts."""
        other = same_kind(self, other)
        pairs = zip(self.parts, other.parts, strict=True)
        differences = [mine.swapped(theirs, signs) for mine, theirs in pairs]
        return mean_of_defined(np.stack(differences, axis=-1))


def same_kind(mine: T, other: Tally) -> T:
    """Return the other tally as one of the same kind, which two runs of one metric are."""
    if not isinstance(other, type(mine)):
        raise TypeError(f"{type(mine).__name__} cannot be compared with {type(other).__name__}")
    return other


def require_same(same: bool, what: str) -> None:
    """Refuse to compare runs that were not tested on the same."""
    if not same:
        raise ValueError(f"two runs can be compared only if they have the same {what}")


class Auroc(Tally):
    r"""The area under the ROC curve over the examples of all subjects.

    It is a ratio of counted pairs, and pairs can be counted by subject: with U[i, j] the number
    of pairs of a positive example of i and a negative one of j in which the positive one has
    the higher score (ties count half), P and N the examples of each class by subject,

        AUROC(w) = w' U w / ((w' P) (w' N)),

    which is the area of the sample in which subject i comes w[i] times. U takes one pass over
    the examples; after it a draw costs n**2, whatever the number of windows. Where subjects are
    many and have few examples, as recordings of the Challenge, each a subject, a draw takes a
    pass over the examples instead: U of 8,000 subjects has half a gigabyte. Both count whole and
    half pairs, so they agree to the last bit.
    """

    def __init__(
        self, labels: ArrayLike, scores: ArrayLike, subject: ArrayLike, n_subjects: int
    ) -> None:
        self.labels = np.asarray(labels).astype(bool)
        self.subject = np.asarray(subject, np.int64)
        self.n_subjects = n_subjects
        # Runs score in units of their own, so only ranks can change sides in a swap.
        self.ranks = _midranks(scores)
        self.positives = np.bincount(self.subject[self.labels], minlength=n_subjects)
        self.negatives = np.bincount(self.subject[~self.labels], minlength=n_subjects)

    @cached_property
    def wins(self) -> Floats:
        """Return U, (n, n)."""
        yes, no = self.labels, ~self.labels
        return count_wins(
            self.ranks[yes], self.subject[yes], self.ranks[no], self.subject[no], self.n_subjects
        )

    @cached_property
    def own_margins(self) -> tuple[Floats, Floats]:
        """Return the sums of rows and of columns of U; every comparison's test needs them."""
        return _margins(self, self)

    def ascending(self, label: bool) -> tuple[Floats, Integers]:
        """Return the ranks of a class in ascending order, and whose they are."""
        return self._by_class[label]

    @cached_property
    def _by_class(self) -> dict[bool, tuple[Floats, Integers]]:
        # Every pair of runs is compared, and looking up ranks in their order is much faster.
        order = np.argsort(self.ranks)
        labels, ranks, subject = self.labels[order], self.ranks[order], self.subject[order]
        return {
            label: (ranks[labels == label], subject[labels == label]) for label in (True, False)
        }

    def values(self, weights: Floats) -> Floats:
        """Return w' U w / ((w' P) (w' N)) for each row of weights."""
        if self.n_subjects**2 <= len(self.labels):
            won = ((weights @ self.wins) * weights).sum(axis=1)
        else:
            won = self._won_in_passes(weights)
        return ratio(won, (weights @ self.positives) * (weights @ self.negatives))

    def _won_in_passes(self, weights: Floats) -> Floats:
        """Return w' U w without U, from the running weight of the negatives below each positive."""
        yes, no = self.labels, ~self.labels
        order = np.argsort(self.ranks[no])
        levels, owner = self.ranks[no][order], self.subject[no][order]
        lower, upper = (np.searchsorted(levels, self.ranks[yes], side) for side in _SIDES)
        won = np.empty(len(weights))
        step = max(1, _CELLS_AT_ONCE // max(1, len(levels)))
        for start in range(0, len(weights), step):
            some = weights[start : start + step]
            below = np.zeros((len(some), len(levels) + 1))
            np.cumsum(some[:, owner], axis=1, out=below[:, 1:])
            beaten = (below[:, lower] + below[:, upper]) / 2
            won[start : start + step] = (some[:, self.subject[yes]] * beaten).sum(axis=1)
        return won

    def swapped(self, other: Tally, signs: Floats) -> Floats:
        """Return the differences after runs A and B have swapped some subjects' ranks.

        After the swaps a positive of i and a negative of j in A are compared by U_AA, U_AB,
        U_BA or U_BB, as i and j have changed sides or not. In A less B all products of two
        signs cancel, so the difference is exactly linear in the signs: sum of sign[i] c[i], with

            2 P N c = (rows + columns of U_AA) - (rows + columns of U_BB)
                      + (rows - columns of U_AB) - (rows - columns of U_BA)

        where the rows of U_AB are the wins of i's positives in A over all negatives in B.
        Ranks are swapped as in Venkatraman and Begg (1996), whole subjects at a time.
        """
        return np.asarray(signs @ self.contributions(other))

    def contributions(self, other: Tally) -> Floats:
        """Return c, (n,): what each subject adds to this area less the other's."""
        other = same_kind(self, other)
        same = np.array_equal(self.labels, other.labels)
        require_same(same and np.array_equal(self.subject, other.subject), "labels")
        (row_aa, column_aa), (row_bb, column_bb) = self.own_margins, other.own_margins
        (row_ab, column_ab), (row_ba, column_ba) = _margins(self, other), _margins(other, self)
        own = row_aa + column_aa - row_bb - column_bb
        cross = row_ab - column_ab - row_ba + column_ba
        return ratio(own + cross, 2 * self.positives.sum() * self.negatives.sum())


def _midranks(scores: ArrayLike) -> Floats:
    """Return each score's rank from 1, (n,); equal ones share the mean of theirs."""
    values = np.asarray(scores, np.float64)
    if np.isnan(values).any():
        raise ValueError(f"{int(np.isnan(values).sum())} of {values.size} scores are NaN")
    return np.asarray(rankdata(values), np.float64)


def count_wins(
    positive: Floats,
    positive_owner: Integers,
    negative: Floats,
    negative_owner: Integers,
    n_owners: int,
) -> Floats:
    """Return U, (n, n): by owner, how often positive scores exceed negative ones; ties are half.

    Each positive looks up how many negatives of each owner lie below it in a running count
    along the sorted negatives, for some owners of negatives at a time.
    """
    by_owner = np.argsort(positive_owner, kind="stable")
    owners, starts = np.unique(positive_owner[by_owner], return_index=True)
    wins = np.zeros((n_owners, n_owners))
    for first in range(0, n_owners if len(owners) else 0, _OWNERS_AT_ONCE):
        width = min(_OWNERS_AT_ONCE, n_owners - first)
        here = (negative_owner >= first) & (negative_owner < first + width)
        below = _count_below(
            positive[by_owner], negative[here], negative_owner[here] - first, width
        )
        wins[owners, first : first + width] = np.add.reduceat(below, starts, axis=0) / 2
    return wins


def _count_below(
    positive: Floats, negative: Floats, owner: Integers, n_owners: int
) -> NDArray[np.int64]:
    """Return twice the number of each owner's negatives below each positive, ties counted once."""
    order = np.argsort(negative)
    running = np.zeros((len(negative) + 1, n_owners), np.int32)
    running[np.arange(1, len(negative) + 1), owner[order]] = 1
    np.cumsum(running, axis=0, out=running)
    levels = negative[order]
    lower, upper = (np.searchsorted(levels, positive, side) for side in _SIDES)
    return np.asarray(running[lower].astype(np.int64) + running[upper])


def _margins(rows: Auroc, columns: Auroc) -> tuple[Floats, Floats]:
    """Return by subject the wins of one run's positives and those over the other's negatives.

    They are the sums of rows and of columns of U, without the matrix.
    """
    (positive, winner), (negative, loser) = rows.ascending(True), columns.ascending(False)
    won = _share_below(positive, negative)
    lost_to = len(positive) - _share_below(negative, positive)
    n = rows.n_subjects
    by_positive = np.bincount(winner, won, minlength=n)
    by_negative = np.bincount(loser, lost_to, minlength=n)
    return by_positive.astype(np.float64), by_negative.astype(np.float64)


def _share_below(values: Floats, others: Floats) -> Floats:
    """Return how many of the others lie below each value, both ascending; equal ones count half."""
    lower, upper = (np.searchsorted(others, values, side) for side in _SIDES)
    return np.asarray((lower + upper) / 2)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, NaN or infinite where the whole is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(part / whole)


def mean_of_defined(by_class: Floats) -> Floats:
    """Return the mean over the last axis, NaN left out; NaN where all are."""
    defined = np.isfinite(by_class)
    return ratio(np.where(defined, by_class, 0.0).sum(axis=-1), defined.sum(axis=-1))
