"""The strips figure: one subject normal and in AFib, and a second subject."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation.document import Strip
from deaps.exhibits import NotShownError
from deaps.exhibits.groups import group_numbers
from storage.schema import FS, Quality

CAPTIONS = ("subject A, normal", "subject A, atrial fibrillation", "subject B, normal")
"""Of the three strips, in the order of `ChosenStrips`."""


class ChosenStrips(NamedTuple):
    """Places of three windows: subject A normal and in AFib, subject B normal."""

    normal: int
    afib: int
    other: int


def choose_strips(
    recording_ids: NDArray[np.integer],
    rows: NDArray[np.integer],
    subjects: Sequence[Hashable] | NDArray[np.generic],
    afib: NDArray[np.bool_],
    quality: Sequence[str] | NDArray[np.generic],
) -> ChosenStrips:
    """Return three typical windows of good quality; the same for the same windows in any order.

    Subject A is the one with the most windows of the best quality in the rarer of the two
    rhythms, subject B the other one with the most normal ones. Of each, the middle of the
    longest stretch of such windows is taken: far from a change of rhythm or quality.

    Parameters
    ----------
    recording_ids, rows, subjects, afib, quality
        (n,): the windows, whose they are, whether AFib or (else) normal, and `Quality`.

    Raises
    ------
    NotShownError
        If no subject has both rhythms, or no other one has a normal window.
    """
    order = np.lexsort((rows, recording_ids))
    names = list(subjects)
    owners = group_numbers(names[i] for i in order.tolist())
    steady = afib[order]
    grade = _grades([str(quality[i]) for i in order.tolist()])
    kinds = [_counts(owners, grade, steady == rhythm) for rhythm in (False, True)]
    first = _first_subject(*kinds)
    second = _second_subject(kinds[0], first)
    at = recording_ids[order].astype(np.int64), rows[order].astype(np.int64)
    wanted = ((first, False), (first, True), (second, False))
    chosen = [
        _typical(*at, np.flatnonzero((owners == subject) & (steady == rhythm)), grade)
        for subject, rhythm in wanted
    ]
    return ChosenStrips(*(int(order[i]) for i in chosen))


def strip(caption: str, window: NDArray[np.floating]) -> Strip:
    """Return a window for drawing, its values rounded to three decimals."""
    values = np.round(window.astype(np.float64), 3) + 0.0  # no -0.0
    return Strip(caption=caption, fs=float(FS), signal=tuple(values.tolist()))


def _grades(quality: list[str]) -> NDArray[np.int64]:
    """Return 0 for Excellent, and so on down."""
    allowed = [str(name) for name in Quality]
    if unknown := sorted(set(quality) - set(allowed)):
        raise ValueError(f"quality is {unknown[0]!r}; allowed are {', '.join(allowed)}")
    return np.array([allowed.index(name) for name in quality], np.int64)


def _counts(
    owners: NDArray[np.int64], grade: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return how many chosen windows of each grade each subject has, (subjects, grades)."""
    counts = np.zeros((int(owners.max(initial=-1)) + 1, len(Quality)), np.int64)
    np.add.at(counts, (owners[chosen], grade[chosen]), 1)
    return counts


def _first_subject(normal: NDArray[np.int64], afib: NDArray[np.int64]) -> int:
    # Grade by grade: a subject without Excellent windows in both rhythms may still have others.
    for grade in range(len(Quality)):
        rarer = np.minimum(normal[:, : grade + 1].sum(axis=1), afib[:, : grade + 1].sum(axis=1))
        if rarer.any():
            return int(rarer.argmax())
    raise NotShownError("no subject has both a normal window and one in AFib")


def _second_subject(normal: NDArray[np.int64], first: int) -> int:
    others = normal.copy()
    others[first] = 0
    for grade in range(len(Quality)):
        if others[:, grade].any():
            return int(others[:, grade].argmax())
    raise NotShownError("no second subject has a normal window")


def _typical(
    recording_ids: NDArray[np.int64],
    rows: NDArray[np.int64],
    candidates: NDArray[np.int64],
    grade: NDArray[np.int64],
) -> int:
    """Return the middle of the longest run of the best candidates in one recording."""
    best = candidates[grade[candidates] == grade[candidates].min()]
    breaks = (np.diff(recording_ids[best]) != 0) | (np.diff(rows[best]) != 1)
    runs = np.split(best, np.flatnonzero(breaks) + 1)
    longest = max(runs, key=len)
    return int(longest[len(longest) // 2])
