"""Windows by group (subject, class): numbers for names, and samples that leave no group out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray


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
