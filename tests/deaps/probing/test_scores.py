import numpy as np
import pytest

from deaps.probing.examples import Fold
from deaps.probing.scores import (
    bootstrap_weights,
    count_predictions,
    fold_scores,
    majority_accuracy,
    measure,
)
from tests.deaps.probing.labelled_store import made_examples

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 60).tolist()
SUBJECTS = [f"s{i // 5}" for i in range(60)]
EXAMPLES = made_examples(LABELS, SUBJECTS)
CLASSES = ("x", "y", "z")


def two_folds() -> list[Fold]:
    halves = np.arange(30), np.arange(30, 60)
    return [Fold("1", halves[1], halves[0]), Fold("2", halves[0], halves[1])]


def random_predictions(folds: list[Fold]) -> list[np.ndarray]:
    return [RNG.integers(0, 3, len(fold.test)).astype(np.int8) for fold in folds]


def scored(folds: list[Fold], predictions: list[np.ndarray], positive: str | None = None):  # type: ignore[no-untyped-def]
    counts = count_predictions(EXAMPLES, folds, predictions, 3)
    found = measure(counts, CLASSES, positive, bootstrap=200, seed=0)
    return {score.metric: score for score in found}


def test_accuracy_is_the_mean_over_folds_with_its_population_deviation() -> None:
    folds = two_folds()
    predictions = random_predictions(folds)
    shares = [
        sum(LABELS[i] == p for i, p in zip(fold.test, predicted, strict=True)) / len(fold.test)
        for fold, predicted in zip(folds, predictions, strict=True)
    ]
    accuracy = scored(folds, predictions)["accuracy"]
    mean = sum(shares) / 2
    assert accuracy.value == pytest.approx(mean)
    assert accuracy.deviation == pytest.approx((sum((s - mean) ** 2 for s in shares) / 2) ** 0.5)
    assert accuracy.n == 60


@pytest.mark.parametrize("label", range(3))
def test_recall_and_precision_are_counted_over_all_predictions(label: int) -> None:
    folds = two_folds()
    predictions = random_predictions(folds)
    pairs = [
        (LABELS[i], int(p))
        for fold, predicted in zip(folds, predictions, strict=True)
        for i, p in zip(fold.test, predicted, strict=True)
    ]
    right = sum(true == label == predicted for true, predicted in pairs)
    scores = scored(folds, predictions)
    recall, precision = scores[f"recall {CLASSES[label]}"], scores[f"precision {CLASSES[label]}"]
    assert recall.value == pytest.approx(right / sum(true == label for true, _ in pairs))
    assert precision.value == pytest.approx(right / sum(p == label for _, p in pairs))


def test_interval_holds_the_value_and_narrows_to_a_point_when_all_is_right() -> None:
    folds = two_folds()
    some = scored(folds, random_predictions(folds))["accuracy"]
    assert some.low is not None
    assert some.high is not None
    assert some.low < some.value < some.high
    truth = [np.array(LABELS, np.int8)[fold.test] for fold in folds]
    perfect = scored(folds, truth)["accuracy"]
    assert (perfect.low, perfect.value, perfect.high, perfect.deviation) == (1, 1, 1, 0)


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    folds = two_folds()
    scores = scored(folds, [np.zeros(30, np.int8)] * 2)
    assert "precision y" not in scores
    assert scores["recall y"].value == 0


def test_sensitivity_and_specificity_are_the_recalls_of_two_classes() -> None:
    examples = made_examples([0, 0, 0, 1, 1], list("abcde"))
    fold = Fold("f", np.array([0]), np.arange(5))
    counts = count_predictions(examples, [fold], [np.array([0, 0, 1, 1, 1], np.int8)], 2)
    scores = {s.metric: s for s in measure(counts, ("no", "yes"), "yes", bootstrap=10, seed=0)}
    assert scores["sensitivity"].value == 1
    assert scores["specificity"].value == pytest.approx(2 / 3)


def test_leaving_one_out_draws_whole_folds() -> None:
    weights = bootstrap_weights(np.arange(7), np.arange(7), draws=100, seed=0)
    assert (weights.sum(axis=1) == 7).all()
    assert (weights == 0).any()


def test_otherwise_subjects_are_drawn_within_their_fold() -> None:
    fold = np.array([0, 0, 0, 1, 1])
    weights = bootstrap_weights(fold, np.arange(5), draws=100, seed=0)
    assert (weights[:, fold == 0].sum(axis=1) == 3).all()
    assert (weights[:, fold == 1].sum(axis=1) == 2).all()


def test_a_subject_of_several_folds_is_drawn_once_for_all_of_them() -> None:
    fold, subject = np.repeat(np.arange(20), 7), np.tile(np.arange(7), 20)
    weights = bootstrap_weights(fold, subject, draws=100, seed=0).reshape(100, 20, 7)
    assert (weights == weights[:, :1]).all()
    assert (weights.sum(axis=2) == 7).all()


def test_interval_over_twenty_draws_of_few_labels_is_as_wide_as_people_differ() -> None:
    """Every draw answers alike, so twenty of them say no more of the people than one does."""
    examples = made_examples([0, 1] * 30, [f"s{i:02d}" for i in range(60)])
    right = np.random.default_rng(2).random(60) < 0.7
    answers = np.where(right, examples.labels, 1 - examples.labels).astype(np.int8)
    folds = [Fold(str(k), np.array([k]), np.delete(np.arange(60), k)) for k in range(20)]
    counts = count_predictions(examples, folds, [answers[fold.test] for fold in folds], 2)
    (accuracy, *_) = measure(counts, ("no", "yes"), None, bootstrap=4000, seed=0)
    deviation = np.sqrt(right.mean() * (1 - right.mean()) / 60)
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.high - accuracy.low == pytest.approx(2 * 1.96 * deviation, rel=0.08)


def test_interval_of_leaving_one_out_agrees_with_drawing_fold_accuracies_by_hand() -> None:
    names = np.unique(SUBJECTS)
    subjects = np.array(SUBJECTS)
    folds = [Fold(n, np.flatnonzero(subjects != n), np.flatnonzero(subjects == n)) for n in names]
    predictions = random_predictions(folds)
    counts = count_predictions(EXAMPLES, folds, predictions, 3)
    (accuracy, *_) = measure(counts, CLASSES, None, bootstrap=20_000, seed=0)
    shares = np.array([score.accuracy for score in fold_scores(counts, folds)])
    rng = np.random.default_rng(1)
    drawn = [rng.choice(shares, len(shares)).mean() for _ in range(20_000)]
    assert accuracy.low == pytest.approx(np.percentile(drawn, 2.5), abs=0.02)
    assert accuracy.high == pytest.approx(np.percentile(drawn, 97.5), abs=0.02)


def test_majority_answers_the_training_sides_most_frequent_class() -> None:
    examples = made_examples([0, 0, 1, 1, 1, 0], list("abcdef"))
    folds = [Fold("f", np.array([0, 1, 2]), np.array([3, 4, 5]))]
    assert majority_accuracy(examples, folds) == pytest.approx(1 / 3)


def test_a_figure_that_no_draw_has_stands_without_an_interval() -> None:
    examples = made_examples([0, 1], ["a", "b"])
    folds = [Fold("f", np.array([], int), np.array([0, 1]))]
    counts = count_predictions(examples, folds, [np.array([0, 1], np.int8)], 2)
    for seed in range(20):
        scores = measure(counts, ("no", "yes"), None, bootstrap=1, seed=seed)
        recalls = {s.metric: s for s in scores if s.metric.startswith("recall")}
        assert {s.value for s in recalls.values()} == {1.0}
        if None in {s.low for s in recalls.values()}:
            return
    pytest.fail("every draw had both subjects")
