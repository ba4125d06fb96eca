"""The check that every split passes: no subject and no recording on both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deaps.probing.examples import Examples, Fold
from storage.errors import DeapsError


class LeakError(DeapsError):
    """A split with the same subject or recording on both sides; nothing is measured on it."""


def guarded(examples: Examples, folds: Sequence[Fold]) -> tuple[Fold, ...]:
    """Return the folds after a check that none of them leaks.

    Raises
    ------
    LeakError
        If a subject, or two recordings with the same signal, stand on both sides of a fold, or a
        side is empty.
    """
    for fold in with_both_sides(folds):
        _refuse_shared(fold, examples.subjects, "subject")
        _refuse_shared(fold, examples.contents, "recording")
    return tuple(folds)


def with_both_sides(folds: Sequence[Fold]) -> tuple[Fold, ...]:
    """Return the folds after a check that no side is empty, and no other."""
    for fold in folds:
        _refuse_empty(fold)
    return tuple(folds)


def _refuse_empty(fold: Fold) -> None:
    for side in ("train", "test"):
        if len(getattr(fold, side)) == 0:
            raise LeakError(f"fold {fold.name!r} has an empty {side} side")


def _refuse_shared(fold: Fold, names: np.ndarray, what: str) -> None:
    shared = np.intersect1d(names[fold.train], names[fold.test])
    shared = shared[shared != ""]
    if len(shared):
        raise LeakError(
            f"fold {fold.name!r}: {len(shared)} {what}s are both fitted on and tested, "
            f"for example {shared[0]}"
        )


def without_copies_of_tested(examples: Examples) -> tuple[Examples, int]:
    """Return the examples without training copies of tested recordings, and how many went.

    The Challenge's public validation recordings are part of its training set.
    """
    tested = examples.sides == "test"
    same_content = np.isin(examples.contents, examples.contents[tested]) & (examples.contents != "")
    same_subject = np.isin(examples.subjects, examples.subjects[tested])
    copies = ~tested & (same_content | same_subject)
    return examples.keep(~copies), int(copies.sum())
