"""Figures of a benchmark, against counting by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score

from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings
from deaps.evaluation.comparisons import Family
from deaps.evaluation.document import BenchmarkFacts, RepresentationRole, Score
from deaps.evaluation.examples import Examples, Fold
from deaps.evaluation.intervals import Entry
from deaps.evaluation.outcomes import BenchmarkFigures
from deaps.evaluation.plan import Plan, majority_accuracy, nested_draws
from deaps.evaluation.probes import Answers
from tests.deaps.evaluation.labelled_store import made_examples

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 3, 60).tolist()
SUBJECTS = [f"s{i // 5:02d}" for i in range(60)]
CLASSES = ("x", "y", "z")


class ThreeClasses(Benchmark):
    """A benchmark of which only the words matter."""

    name = "made"
    title = "Made"
    classes: ClassVar[tuple[str, ...]] = CLASSES
    metrics = ("f1",)
    datasets = protocol = examples = folds = None  # type: ignore[assignment]


class TwoClasses(ThreeClasses):
    classes = ("no", "yes")
    positive = "yes"
    metrics = ()


def plan_of(benchmark: type[Benchmark], examples: Examples, folds: Sequence[Fold]) -> Plan:
    settings = BenchmarkSettings(bootstrap=200)
    facts = BenchmarkFacts(
        examples={}, windows={}, tested={}, subjects=1, folds=len(folds), majority=0,
        quality_rule="", seed=0,
    )  # fmt: skip
    draws = nested_draws(examples, repeats=3) if "train" in examples.sides else ()
    return Plan(benchmark(), settings, examples, tuple(folds), facts, draws)


def two_folds() -> list[Fold]:
    halves = np.arange(30), np.arange(30, 60)
    return [Fold("1", halves[1], halves[0]), Fold("2", halves[0], halves[1])]


EXAMPLES = made_examples(LABELS, SUBJECTS)
PLAN = plan_of(ThreeClasses, EXAMPLES, two_folds())


def answers(labels: np.ndarray, n_classes: int = 3) -> Answers:
    return Answers(labels.astype(np.int8), np.eye(n_classes)[labels])


def random_run(seed: int) -> list[Answers]:
    rng = np.random.default_rng(seed)
    return [answers(rng.integers(0, 3, len(fold.test))) for fold in PLAN.folds]


def figures(*runs: list[Answers], plan: Plan = PLAN, seeded: bool = True) -> BenchmarkFigures:
    return BenchmarkFigures(plan, [Entry("own", runs, "method", seeded=seeded)])


def scores(*runs: list[Answers], plan: Plan = PLAN) -> dict[str, Score]:
    return {score.metric: score for score in figures(*runs, plan=plan).outcome("own").scores}


def test_accuracy_is_the_mean_over_folds_with_its_population_deviation() -> None:
    run = random_run(1)
    shares = [
        float(np.mean(EXAMPLES.labels[fold.test] == given.labels))
        for fold, given in zip(PLAN.folds, run, strict=True)
    ]
    accuracy = scores(run)["accuracy"]
    assert accuracy.value == pytest.approx(np.mean(shares))
    assert accuracy.deviation == pytest.approx(np.std(shares))
    assert accuracy.n == 60


def test_other_metrics_are_those_of_scikit_learn_over_all_answers() -> None:
    run = random_run(2)
    true = np.concatenate([EXAMPLES.labels[fold.test] for fold in PLAN.folds])
    given = np.concatenate([each.labels for each in run])
    found = scores(run)
    assert found["balanced accuracy"].value == pytest.approx(balanced_accuracy_score(true, given))
    assert found["f1"].value == pytest.approx(f1_score(true, given, average="macro"))
    for label, name in enumerate(CLASSES):
        right = np.sum((true == label) & (given == label))
        assert found[f"recall {name}"].value == pytest.approx(right / np.sum(true == label))
        assert found[f"precision {name}"].value == pytest.approx(right / np.sum(given == label))
        assert found[f"precision {name}"].n == np.sum(given == label)


def test_a_figure_is_the_mean_over_seeds_and_keeps_each_of_them() -> None:
    runs = [random_run(seed) for seed in (3, 4, 5)]
    single = [scores(run)["accuracy"].value for run in runs]
    together = figures(*runs).outcome("own")
    accuracy = together.score("accuracy")
    assert accuracy is not None
    assert accuracy.by_seed == pytest.approx(single)
    assert accuracy.value == pytest.approx(np.mean(single))
    assert accuracy.n == 60
    assert accuracy.scope == "people and seeds"
    assert np.sum(together.confusion) == 180
    assert together.folds[0].accuracy == pytest.approx(
        np.mean([np.mean(run[0].labels == EXAMPLES.labels[:30]) for run in runs])
    )


def test_an_interval_over_people_and_seeds_is_wider_where_seeds_differ() -> None:
    truth = [answers(EXAMPLES.labels[fold.test].astype(np.int64)) for fold in PLAN.folds]
    half = random_run(6)
    apart, alike = scores(truth, half)["accuracy"], scores(half, half)["accuracy"]
    assert apart.low is not None and apart.high is not None  # noqa: PT018 - for the type checker
    assert alike.low is not None and alike.high is not None  # noqa: PT018 - for the type checker
    assert apart.high - apart.low > 1.5 * (alike.high - alike.low)


def test_all_right_has_no_width() -> None:
    truth = [answers(EXAMPLES.labels[fold.test].astype(np.int64)) for fold in PLAN.folds]
    perfect = scores(truth)["accuracy"]
    assert (perfect.low, perfect.value, perfect.high, perfect.deviation) == (1, 1, 1, 0)


def test_a_class_that_is_never_answered_has_no_precision() -> None:
    found = scores([answers(np.zeros(30, np.int64))] * 2)
    assert "precision y" not in found
    assert found["recall y"].value == 0


def test_what_one_seed_leaves_undefined_has_no_figure() -> None:
    found = scores(random_run(7), [answers(np.zeros(30, np.int64))] * 2)
    assert "precision y" not in found
    assert "recall y" in found


def two_class_plan(subjects: str = "abcdef") -> Plan:
    examples = made_examples([0, 0, 0, 1, 1, 1], list(subjects))
    return plan_of(TwoClasses, examples, [Fold("f", np.array([0]), np.arange(6))])


def test_sensitivity_specificity_and_auroc_of_two_classes() -> None:
    plan = two_class_plan()
    score = np.array([-2.0, -1, 1, 0.5, 2, 3])
    given = Answers((score > 0).astype(np.int8), np.stack([-score, score], axis=1))
    found = scores([given], plan=plan)
    assert found["sensitivity"].value == 1
    assert found["specificity"].value == pytest.approx(2 / 3)
    assert found["auroc"].value == pytest.approx(roc_auc_score(plan.examples.labels, score))
    assert "f1" not in found


def test_one_person_has_figures_without_intervals_or_comparisons() -> None:
    plan = two_class_plan("aaaaaa")
    given = answers(np.array([0, 0, 1, 1, 1, 0]), 2)
    both = BenchmarkFigures(
        plan, [Entry("own", ([given],), "method"), Entry("other", ([given],), "method")]
    )
    accuracy = both.outcome("own").scores[0]
    assert accuracy.value == pytest.approx(4 / 6)
    assert (accuracy.low, accuracy.high, accuracy.scope) == (None, None, None)
    assert both.comparisons([Family("methods", "own", ("other",))]) == ()


def contest() -> BenchmarkFigures:
    """A reference that is always right, a method with random answers, two baselines."""
    truth = [answers(EXAMPLES.labels[fold.test].astype(np.int64)) for fold in PLAN.folds]
    roles: dict[str, RepresentationRole] = {"ours": "method", "chance": "method"}
    roles |= {"random": "baseline", "rr": "baseline"}
    runs = {
        "ours": (truth, truth, truth),
        "chance": (random_run(10), random_run(11), random_run(12)),
        "random": (random_run(13), random_run(14)),
        "rr": (truth,),
    }
    return BenchmarkFigures(
        PLAN, [Entry(name, runs[name], roles[name], seeded=name != "rr") for name in roles]
    )


def test_a_reference_that_is_always_right_differs_from_chance_and_not_from_its_equal() -> None:
    families = [
        Family("methods", "ours", ("chance",)),
        Family("baselines", "ours", ("random", "rr")),
    ]
    found = {
        (c.family, d.comparator): d
        for c in contest().comparisons(families)
        if c.metric == "accuracy"
        for d in c.differences
    }
    assert found["methods", "chance"].significant
    assert found["baselines", "random"].significant
    equal = found["baselines", "rr"]
    assert not equal.significant
    assert (equal.value, equal.p) == (0, 1)


def test_every_family_is_compared_by_every_metric_that_there_is() -> None:
    found = contest().comparisons([Family("methods", "ours", ("chance", "absent"))])
    assert [c.metric for c in found] == ["accuracy", "balanced accuracy", "f1"]
    assert {d.comparator for c in found for d in c.differences} == {"chance"}
    assert {c.n_subjects for c in found} == {12}
    assert contest().comparisons([Family("methods", "absent", ("ours",))]) == ()


def test_a_baselines_luck_does_not_widen_the_interval_of_a_method() -> None:
    steady = [random_run(20)] * 3
    alone = BenchmarkFigures(PLAN, [Entry("own", tuple(steady), "method")])
    truth = [answers(EXAMPLES.labels[fold.test].astype(np.int64)) for fold in PLAN.folds]
    wild = Entry("random", (truth, random_run(21)), "baseline")
    beside = BenchmarkFigures(PLAN, [Entry("own", tuple(steady), "method"), wild])
    assert beside.outcome("own").scores[0] == alone.outcome("own").scores[0]


def with_lucky_variants(*variants: tuple[str, RepresentationRole]) -> BenchmarkFigures:
    """Two methods whose runs are alike, and variants whose runs are far apart."""
    truth = [answers(EXAMPLES.labels[fold.test].astype(np.int64)) for fold in PLAN.folds]
    made = [Entry(n, (random_run(s),) * 3, "method") for n, s in (("own", 20), ("other", 21))]
    made += [Entry(n, (truth, random_run(22), random_run(23)), role) for n, role in variants]
    return BenchmarkFigures(PLAN, made)


@pytest.mark.parametrize("role", ["joined", "ablation", "trial"])
def test_only_trainings_of_methods_tell_the_luck_of_a_seed(role: RepresentationRole) -> None:
    alone, beside = with_lucky_variants(), with_lucky_variants(("variant", role))
    assert beside.outcome("own").scores == alone.outcome("own").scores
    third = with_lucky_variants(("variant", "method"))
    assert third.outcome("own").scores != alone.outcome("own").scores


def test_majority_answers_the_training_sides_most_frequent_class() -> None:
    examples = made_examples([0, 0, 1, 1, 1, 0], list("abcdef"))
    folds = [Fold("f", np.array([0, 1, 2]), np.array([3, 4, 5]))]
    assert majority_accuracy(examples, folds) == pytest.approx(1 / 3)
