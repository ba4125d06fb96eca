"""Arrays on their way into the document: by group, as plain numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storage.errors import DeapsError


def group_numbers(names: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return a number for each name, from 0 in the order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def stratified_sample(groups: NDArray[np.int64], n: int, *, seed: int) -> NDArray[np.int64]:
    """Return the places of n members, ascending: one of every group, the rest in proportion.

    All of them if there are no more than n; n different groups if there are more groups.
    """
    if len(groups) <= n:
        return np.arange(len(groups))
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(groups))
    order = shuffled[np.argsort(groups[shuffled], kind="stable")]
    _, first, size = np.unique(groups[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(first, size)
    # Members of a group are called at even distances; the first ones before all others.
    turn = np.where(rank == 0, -1.0, rank / np.repeat(size, size))
    called = np.lexsort((rng.random(len(order)), turn))[:n]
    return np.sort(order[called])


_DIGITS = 6
"""Significant digits, more than any drawing shows."""


def plain_floats(values: ArrayLike, *, digits: int = _DIGITS) -> tuple[float, ...]:
    """Return values as floats of some significant digits.

    Raises
    ------
    ValueError
        If one of them is not finite: JSON has no such number.
    """
    array = np.asarray(values, np.float64)
    if unfit := int(np.count_nonzero(~np.isfinite(array))):
        raise ValueError(f"{unfit} of {array.size} values are not finite; leave them out first")
    return tuple(float(f"{value:.{digits}g}") for value in array.tolist())


class NotShownError(DeapsError):
    """The data do not allow a figure; the message says what is missing."""
