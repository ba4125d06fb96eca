"""Tallies of folds give the figures that the benchmarks print."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from deaps.evaluation.examples import Fold
from deaps.evaluation.intervals import Entry
from deaps.evaluation.metrics import METRICS, subjects_tested, tally_folds
from deaps.evaluation.probes import Answers
from tests.deaps.evaluation.labelled_store import made_examples
from tests.deaps.evaluation.statistics.made_experiments import compared

RNG = np.random.default_rng(0)
CLASSES = ("no", "yes")
SUBJECTS = [f"s{i // 6}" for i in range(60)]
EXAMPLES = made_examples(RNG.integers(0, 2, 60).tolist(), SUBJECTS)
EVERYTHING = np.arange(60)


def folds(kind: str) -> list[Fold]:
    if kind == "one split":
        return [Fold("test", np.arange(12), np.arange(12, 60))]
    if kind == "leave one out":
        tests = [EVERYTHING[EXAMPLES.subjects == name] for name in np.unique(SUBJECTS)]
    elif kind == "two folds":
        tests = [np.arange(24), np.arange(24, 60)]
    else:
        tests = [np.delete(EVERYTHING, [k, 59 - k]) for k in range(4)]
    return [Fold(str(k), np.setdiff1d(EVERYTHING, test), test) for k, test in enumerate(tests)]


def answered(fold: Fold, lift: float = 1.0) -> Answers:
    score = RNG.standard_normal(len(fold.test)) + lift * (EXAMPLES.labels[fold.test] - 0.5)
    return Answers((score > 0).astype(np.int8), np.stack([-score, score], axis=1))


@pytest.mark.parametrize("kind", ["one split", "leave one out", "two folds", "draws"])
def test_figures_equal_counting_by_hand(kind: str) -> None:
    splits = folds(kind)
    answers = [answered(fold) for fold in splits]
    tallies = tally_folds(EXAMPLES, splits, answers, CLASSES)
    shares = [
        np.mean(EXAMPLES.labels[fold.test] == a.labels)
        for fold, a in zip(splits, answers, strict=True)
    ]
    assert tallies["accuracy"].value() == pytest.approx(np.mean(shares))
    true = EXAMPLES.labels[np.concatenate([fold.test for fold in splits])]
    given = np.concatenate([a.labels for a in answers])
    for label, name in enumerate(CLASSES):
        right = np.sum((true == label) & (given == label))
        assert tallies[f"recall {name}"].value() == pytest.approx(right / np.sum(true == label))
        assert tallies[f"precision {name}"].value() == pytest.approx(right / np.sum(given == label))


@pytest.mark.parametrize("kind", ["one split", "two folds", "draws"])
def test_auroc_is_the_mean_over_folds(kind: str) -> None:
    splits = folds(kind)
    answers = [answered(fold) for fold in splits]
    expected = [
        roc_auc_score(EXAMPLES.labels[fold.test], a.scores[:, 1])
        for fold, a in zip(splits, answers, strict=True)
    ]
    value = tally_folds(EXAMPLES, splits, answers, CLASSES)["auroc"].value()
    assert value == pytest.approx(np.mean(expected))


def test_auroc_of_leaving_one_out_ranks_all_subjects_together() -> None:
    splits = folds("leave one out")
    answers = [answered(fold) for fold in splits]
    scores = np.concatenate([a.scores[:, 1] for a in answers])
    labels = EXAMPLES.labels[np.concatenate([fold.test for fold in splits])]
    value = tally_folds(EXAMPLES, splits, answers, CLASSES)["auroc"].value()
    assert value == pytest.approx(roc_auc_score(labels, scores))


def test_one_class_alone_has_no_auroc() -> None:
    examples = made_examples([1] * 4, list("aabb"))
    fold = Fold("f", np.array([0]), np.arange(4))
    answers = Answers(np.array([1, 1, 0, 1], np.int8), np.zeros((4, 2)))
    assert "auroc" not in tally_folds(examples, [fold], [answers], CLASSES)


@pytest.mark.parametrize("metric", ["accuracy", "balanced accuracy", "f1", "auroc", "recall yes"])
@pytest.mark.parametrize("kind", ["one split", "leave one out", "draws"])
def test_better_answers_are_found_better_by_every_metric(kind: str, metric: str) -> None:
    splits = folds(kind)
    methods = []
    for name, lift in (("deaps", 8.0), ("byol", 0.0)):
        runs = [
            tally_folds(
                EXAMPLES,
                splits,
                [answered(fold, lift) for fold in splits],
                CLASSES,
                extra=tuple(METRICS),
            )
            for _ in range(3)
        ]
        methods.append(Entry(name, tuple(run[metric] for run in runs)))
    found = compared(methods)
    assert found.comparison.n_subjects == len(subjects_tested(EXAMPLES, splits))
    assert found.differences[0].significant
    assert 0.9 < found.estimates["deaps"].value <= found.bounds("deaps", (0, 1)).high <= 1
