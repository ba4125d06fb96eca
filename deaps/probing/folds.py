"""Ways to split examples."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from deaps.probing.examples import Examples, Fold
from deaps.probing.labelled_windows import NotRunError


def given_sides(examples: Examples) -> list[Fold]:
    """Return the one split that the data sets themselves make."""
    train = np.flatnonzero(examples.sides == "train")
    test = np.flatnonzero(examples.sides == "test")
    return [Fold("test", train, test)]


def leave_one_subject_out(examples: Examples) -> list[Fold]:
    """Return a fold for each subject, in the order of their names."""
    names = np.unique(examples.subjects)
    if len(names) < 2:
        raise NotRunError(f"leaving one subject out needs two of them; there are {len(names)}")
    return [
        Fold(
            name.split("/", 1)[-1],
            np.flatnonzero(examples.subjects != name),
            np.flatnonzero(examples.subjects == name),
        )
        for name in names
    ]


def subject_folds(examples: Examples, n_folds: int, seed: int) -> list[Fold]:
    """Return seeded folds in which classes are balanced and no subject is split."""
    labels = np.unique(examples.labels)
    rarest = min(len(np.unique(examples.subjects[examples.labels == c])) for c in labels)
    if rarest < n_folds:
        raise NotRunError(
            f"{n_folds} folds need as many subjects of each class; of one there are {rarest}"
        )
    splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    splits = splitter.split(examples.labels, examples.labels, examples.subjects)
    return [Fold(f"fold {i}", train, test) for i, (train, test) in enumerate(splits, start=1)]


def few_labels(examples: Examples, each: int, draws: int, seed: int) -> list[Fold]:
    """Return draws of ``each`` examples of every class to fit on; the others are tested."""
    counts = np.bincount(examples.labels)
    if counts.min() <= each:
        raise NotRunError(f"needs more than {each} examples of each class; there are {counts}")
    folds = []
    for draw in range(draws):
        rng = np.random.Generator(np.random.Philox(key=[seed, draw]))
        shuffled = rng.permutation(len(examples))
        by_class = [shuffled[examples.labels[shuffled] == c][:each] for c in range(len(counts))]
        train = np.sort(np.concatenate(by_class))
        test = np.setdiff1d(np.arange(len(examples)), train)
        folds.append(Fold(f"draw {draw + 1}", train, test))
    return folds
