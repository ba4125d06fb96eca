"""Figures of a benchmark from its predictions, with confidence intervals over subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation import FoldScore, Score
from deaps.probing.examples import Examples, Fold
from deaps.probing.metrics import balanced_accuracy, cohen_kappa

_INTERVAL = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Counts:
    """Confusion matrices of each subject in each fold that tests it."""

    confusion: NDArray[np.int64]
    """(s, k, k): rows are the true classes."""
    fold: NDArray[np.int64]
    """(s,): fold that each stands in."""
    subject: NDArray[np.int64]
    """(s,): number of each one's subject; one that several folds test stands here as often."""

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1


def count_predictions(
    examples: Examples,
    folds: Sequence[Fold],
    predictions: Sequence[NDArray[np.int8]],
    n_classes: int,
) -> Counts:
    """Return how often each true class was predicted as each, by fold and subject."""
    everyone = np.unique(examples.subjects, return_inverse=True)[1]
    matrices, numbers, subjects = [], [], []
    for number, (fold, predicted) in enumerate(zip(folds, predictions, strict=True)):
        true = examples.labels[fold.test].astype(np.int64)
        tested, place = np.unique(everyone[fold.test], return_inverse=True)
        cell = (place * n_classes + true) * n_classes + predicted
        counted = np.bincount(cell, minlength=len(tested) * n_classes**2)
        matrices.append(counted.reshape(len(tested), n_classes, n_classes))
        numbers.append(np.full(len(tested), number))
        subjects.append(tested)
    return Counts(np.concatenate(matrices), np.concatenate(numbers), np.concatenate(subjects))


def measure(
    counts: Counts,
    classes: Sequence[str],
    positive: str | None,
    *,
    bootstrap: int,
    seed: int,
    agreement: bool = False,
) -> tuple[Score, ...]:
    """Return accuracy, sensitivity and specificity if asked, recall and precision by class.

    With ``agreement`` balanced accuracy and Cohen's kappa follow the accuracy.

    Accuracy is the mean over folds, with its deviation over them; the others are over all
    predictions together.
    """
    weights = bootstrap_weights(counts.fold, counts.subject, draws=bootstrap, seed=seed)
    whole = np.ones((1, len(counts.fold)))
    values, drawn = _figures(counts, whole), _figures(counts, weights)
    names = ["accuracy", *(f"recall {c}" for c in classes), *(f"precision {c}" for c in classes)]
    scores = [
        _score(name, values[0, i], drawn[:, i], _behind(counts, i))
        for i, name in enumerate(names)
        if np.isfinite(values[0, i])
    ]
    if counts.n_folds > 1:
        deviation = float(np.std(fold_accuracies(counts)))
        scores[0] = scores[0].model_copy(update={"deviation": deviation})
    if positive is not None:
        scores[1:1] = _sensitivity_specificity(scores, classes, positive)
    if agreement:
        scores[1:1] = _agreement(counts, weights)
    return tuple(scores)


def fold_accuracies(counts: Counts) -> NDArray[np.float64]:
    """Return the share of right answers of each fold, (folds,)."""
    return _accuracies(counts, np.ones((1, len(counts.fold))))[0]


def fold_scores(counts: Counts, folds: Sequence[Fold]) -> tuple[FoldScore, ...]:
    """Return the folds with their accuracy."""
    pairs = zip(folds, fold_accuracies(counts), strict=True)
    return tuple(FoldScore(name=f.name, n=len(f.test), accuracy=float(a)) for f, a in pairs)


def majority_accuracy(examples: Examples, folds: Sequence[Fold]) -> float:
    """Return the accuracy of always answering the most frequent class of the training side."""
    shares = []
    for fold in folds:
        answer = np.bincount(examples.labels[fold.train]).argmax()
        shares.append(np.mean(examples.labels[fold.test] == answer))
    return float(np.mean(shares))


def bootstrap_weights(
    fold: NDArray[np.int64], subject: NDArray[np.int64], *, draws: int, seed: int
) -> NDArray[np.float64]:
    """Return how often each subject is drawn, (draws, s), in each fold that it stands in.

    Subjects are drawn within their fold, so that every fold keeps its size; where each fold
    tests one subject (leave one out), the folds themselves are drawn. Where folds share
    subjects (draws of few labels), people are drawn once for all folds: a person who comes
    twice comes twice in each. Drawn anew in each of 20 folds, they would average out, and the
    interval would be some four times too narrow.
    """
    rng = np.random.default_rng(seed)
    people, place = np.unique(subject, return_inverse=True)
    if len(people) < len(subject):
        return _drawn_together(rng, len(people), draws)[:, place]
    sizes = np.bincount(fold)
    if sizes.max() == 1:
        return _drawn_together(rng, len(fold), draws)
    weights = np.empty((draws, len(fold)))
    for number, n in enumerate(sizes):
        weights[:, fold == number] = _drawn_together(rng, n, draws)
    return weights


def _drawn_together(rng: np.random.Generator, n: int, draws: int) -> NDArray[np.float64]:
    return rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(np.float64)


def _accuracies(counts: Counts, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each fold's accuracy under each row of weights, (draws, folds); NaN if not drawn."""
    member = np.eye(counts.n_folds)[counts.fold]
    right = np.trace(counts.confusion, axis1=1, axis2=2)
    total = counts.confusion.sum(axis=(1, 2))
    with np.errstate(invalid="ignore"):
        return np.asarray(((weights * right) @ member) / ((weights * total) @ member))


def _figures(counts: Counts, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return accuracy, recalls and precisions under each row of weights, (draws, 1 + 2 k)."""
    confusion = np.tensordot(weights, counts.confusion, axes=1)
    right = np.diagonal(confusion, axis1=1, axis2=2)
    with np.errstate(invalid="ignore"):
        recall, precision = right / confusion.sum(axis=2), right / confusion.sum(axis=1)
    return np.concatenate([_accuracy(counts, weights)[:, None], recall, precision], axis=1)


def _accuracy(counts: Counts, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over folds under each row of weights, (draws,)."""
    by_fold = _accuracies(counts, weights)
    if len(counts.fold) == counts.n_folds:  # a fold counts as often as its one subject is drawn
        by_fold = np.where(weights > 0, by_fold, 0)
        return np.asarray((by_fold * weights).sum(axis=1) / weights.sum(axis=1))
    return np.asarray(np.nanmean(by_fold, axis=1))


def _agreement(counts: Counts, weights: NDArray[np.float64]) -> list[Score]:
    whole = counts.confusion.sum(axis=0)
    drawn = np.tensordot(weights, counts.confusion, axes=1)
    metrics = {"balanced accuracy": balanced_accuracy, "Cohen's kappa": cohen_kappa}
    return [
        _score(name, float(metric(whole)), metric(drawn), int(whole.sum()))
        for name, metric in metrics.items()
    ]


def _behind(counts: Counts, figure: int) -> int:
    """Return the number of examples behind a figure."""
    whole = counts.confusion.sum(axis=0)
    k = len(whole)
    if figure == 0:
        return int(whole.sum())
    return int(whole.sum(axis=1)[figure - 1] if figure <= k else whole.sum(axis=0)[figure - 1 - k])


def _score(name: str, value: float, drawn: NDArray[np.float64], n: int) -> Score:
    finite = drawn[np.isfinite(drawn)]
    # Without a draw that has examples of the class, there is no interval.
    low, high = np.percentile(finite, _INTERVAL).tolist() if len(finite) else (None, None)
    return Score(metric=name, value=float(value), low=low, high=high, n=n)


def _sensitivity_specificity(
    scores: Sequence[Score], classes: Sequence[str], positive: str
) -> list[Score]:
    """Return the recalls of the positive class and of its opposite under their usual names."""
    (negative,) = (name for name in classes if name != positive)
    named = {f"recall {positive}": "sensitivity", f"recall {negative}": "specificity"}
    renamed = {named[s.metric]: s for s in scores if s.metric in named}
    return [
        renamed[name].model_copy(update={"metric": name})
        for name in ("sensitivity", "specificity")
        if name in renamed
    ]
