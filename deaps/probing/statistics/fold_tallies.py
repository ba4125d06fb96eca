"""From a benchmark's folds and a probe's answers to one tally for each metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deaps.probing.examples import Examples, Fold
from deaps.probing.metrics import balanced_accuracy, cohen_kappa, mean_f1, precision, recall
from deaps.probing.probes import Answers
from deaps.probing.statistics.auroc import Auroc
from deaps.probing.statistics.tally import Averaged, Confusions, Floats, Means, Tally


def subjects_tested(examples: Examples, folds: Sequence[Fold]) -> NDArray[np.str_]:
    """Return who is tested, (n,), in the order of the tallies."""
    return np.unique(np.concatenate([examples.subjects[fold.test] for fold in folds]))


def tally_folds(
    examples: Examples,
    folds: Sequence[Fold],
    answers: Sequence[Answers],
    classes: Sequence[str],
) -> dict[str, Tally]:
    """Return a run's tallies by metric, from its answers to each fold's test side.

    ``accuracy`` is the mean over folds; where each fold tests one subject, over subjects.
    ``balanced accuracy``, ``f1``, ``recall CLASS`` and ``precision CLASS`` are of the confusion
    matrix over all folds. ``auroc``, if there are two classes and both are tested, is the mean
    over folds too; where each fold tests one subject, who may have one class, all folds' scores
    are ranked together.
    """
    people = subjects_tested(examples, folds)
    parts = [
        _Part(examples.labels[f.test], np.searchsorted(people, examples.subjects[f.test]), a)
        for f, a in zip(folds, answers, strict=True)
    ]
    n = len(people)
    tallies = {"accuracy": _accuracy(parts, n), **_of_confusion(parts, n, classes)}
    if len(classes) == len(np.unique(np.concatenate([part.labels for part in parts]))) == 2:
        tallies["auroc"] = _auroc(parts, n)
    return tallies


class _Part(NamedTuple):
    """One fold's tested examples."""

    labels: NDArray[np.int8]
    subject: NDArray[np.int64]
    answers: Answers


def _accuracy(parts: Sequence[_Part], n: int) -> Tally:
    means = [
        Means.of_examples(part.answers.labels == part.labels, part.subject, n) for part in parts
    ]
    if _leaves_one_out(parts, n):
        return Means(sum(mean.sums for mean in means) / sum(mean.counts for mean in means))
    return _joined(means)


def _of_confusion(parts: Sequence[_Part], n: int, classes: Sequence[str]) -> dict[str, Tally]:
    metrics = {"balanced accuracy": balanced_accuracy, "f1": mean_f1, "kappa": cohen_kappa}
    for number, name in enumerate(classes):
        metrics[f"recall {name}"] = partial(_of_class, recall, number)
        metrics[f"precision {name}"] = partial(_of_class, precision, number)
    together = Confusions.of_answers(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.answers.labels for part in parts]),
        np.concatenate([part.subject for part in parts]),
        n_subjects=n,
        n_classes=len(classes),
        metric=balanced_accuracy,
    )
    return {name: Confusions(together.confusion, metric) for name, metric in metrics.items()}


def _of_class(metric: Callable[[Floats], Floats], number: int, confusion: Floats) -> Floats:
    return np.asarray(metric(confusion)[..., number])


def _auroc(parts: Sequence[_Part], n: int) -> Tally:
    if _leaves_one_out(parts, n):
        labels = np.concatenate([part.labels for part in parts])
        scores = np.concatenate([part.answers.scores[:, 1] for part in parts])
        return Auroc(labels, scores, np.concatenate([part.subject for part in parts]), n)
    return _joined(
        [Auroc(part.labels, part.answers.scores[:, 1], part.subject, n) for part in parts]
    )


def _joined(tallies: Sequence[Tally]) -> Tally:
    return tallies[0] if len(tallies) == 1 else Averaged(tallies)


def _leaves_one_out(parts: Sequence[_Part], n: int) -> bool:
    return len(parts) == n > 1 and all(len(np.unique(part.subject)) == 1 for part in parts)
