"""Few-label curves: how a probe gets better as more people's recordings are annotated.

Few labels are the paper's claim. So the training people are drawn in ever larger groups, each
of which holds the one before, a probe is fitted on each group and tested on all test people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deaps.probing.examples import Examples, Fold
from deaps.probing.labelled_windows import NotRunError


@dataclass(frozen=True, slots=True)
class LabelDraw:
    """Some people whose recordings are annotated."""

    repeat: int
    people: tuple[str, ...]
    """In the order drawn."""
    fold: Fold
    """Fitted on their examples, tested on all test people's."""

    @property
    def n_people(self) -> int:
        """How many they are."""
        return len(self.people)


def nested_draws(examples: Examples, *, repeats: int = 10, seed: int = 0) -> tuple[LabelDraw, ...]:
    """Return draws of 1, 2, 4, ... and all training people, several times over.

    Within a repeat each draw holds the smaller ones. Every draw has all classes of the training
    side: the first people drawn are those who add most classes that are not there yet, at random
    among equals, the rest are at random. Numbers of people too small for all classes are left
    out (a Challenge recording has one of three classes, so its curve begins with 4). All
    people together are one draw, not several alike. The same seed gives the same draws for
    every representation.

    Raises
    ------
    NotRunError
        If there are no training or no test people.
    """
    train, test = (np.flatnonzero(examples.sides == side) for side in ("train", "test"))
    if not len(train) or not len(test):
        raise NotRunError("few-label curves need training and test people; one side is empty")
    subjects, labels = examples.subjects[train], examples.labels[train]
    orders = [_Order.draw(subjects, labels, seed, repeat) for repeat in range(repeats)]
    fewest = max(order.fewest for order in orders)
    draws = []
    for n in (n for n in _sizes(len(orders[0].people)) if n >= fewest):
        last = n == len(orders[0].people)
        for repeat, order in enumerate(orders[:1] if last else orders):
            people = order.people[:n]
            fold = Fold(f"{n} people, draw {repeat + 1}", train[np.isin(subjects, people)], test)
            draws.append(LabelDraw(repeat, tuple(people.tolist()), fold))
    return tuple(draws)


@dataclass(frozen=True, slots=True)
class _Order:
    """People in the order in which they are drawn."""

    people: NDArray[np.str_]
    fewest: int
    """How many of them have all classes together."""

    @classmethod
    def draw(cls, subjects: NDArray[np.str_], labels: ArrayLike, seed: int, repeat: int) -> _Order:
        people, place = np.unique(subjects, return_inverse=True)
        has = np.zeros((len(people), int(np.max(labels)) + 1), bool)
        has[place, np.asarray(labels)] = True
        rng = np.random.Generator(np.random.Philox(key=[seed, repeat]))
        left = rng.permutation(len(people)).tolist()
        first: list[int] = []
        missing = has.any(axis=0)
        while missing.any():
            best = max(left, key=lambda person: int((has[person] & missing).sum()))
            left.remove(best)
            first.append(best)
            missing &= ~has[best]
        return cls(people[first + left], len(first))


def _sizes(n_people: int) -> list[int]:
    """Return 1, 2, 4, ... below n, and n."""
    doubled = [2**k for k in range(n_people.bit_length()) if 2**k < n_people]
    return [*doubled, n_people]
