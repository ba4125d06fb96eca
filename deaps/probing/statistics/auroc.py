"""The area under the ROC curve, by subject: for any draw of subjects, without a sort of its own."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deaps.probing.metrics import midranks
from deaps.probing.statistics.tally import Floats, Tally, ratio, require_same, same_kind

Integers = NDArray[np.int64]

_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
"""Of equal scores: where they begin and where they end. The mean of both counts ties half."""

_OWNERS_AT_ONCE = 64
"""Subjects whose negatives are counted in one table: it stays in the cache."""

_CELLS_AT_ONCE = 2**20
"""Draws times negative examples whose running counts are held at once."""


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
        self.ranks = midranks(scores)
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
        """Return the sums of rows and of columns of U; every rival's test needs them."""
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
