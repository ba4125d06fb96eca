"""Nested draws of annotated people, and the curves that come of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from deaps.probing.examples import Examples
from deaps.probing.few_labels import CurvePoint, curve, nested_draws
from deaps.probing.labelled_windows import NotRunError
from deaps.probing.outcomes.figures import COMPARED
from deaps.probing.probes import PROBES
from deaps.probing.split_guard import guarded
from deaps.probing.statistics.fold_tallies import tally_folds
from deaps.probing.statistics.tally import Means, Tally
from tests.deaps.probing.labelled_store import made_examples

RNG = np.random.default_rng(0)
DRAWS = 1000


def both_rhythms(train: int = 7, test: int = 10, each: int = 6) -> Examples:
    """Return people who have both classes, the last of the training side one alone."""
    subjects = [f"p{i:02d}" for i in range(train + test) for _ in range(each)]
    labels = np.tile(np.arange(each) % 2, train + test)
    labels[(train - 1) * each : train * each] = 0
    sides = np.repeat(["train", "test"], [train * each, test * each])
    return made_examples(labels.tolist(), subjects, sides=sides)


def one_class_each(train: int = 40, test: int = 9) -> Examples:
    """Return people of one class each, one in ten of the last class, as in the Challenge."""
    labels = [2 if i % 10 == 0 else i % 2 for i in range(train + test)]
    sides = np.repeat(["train", "test"], [train, test])
    return made_examples(labels, [f"A{i:03d}" for i in range(train + test)], sides=sides)


def test_people_are_doubled_up_to_all_of_them() -> None:
    draws = nested_draws(both_rhythms(), repeats=5)
    sizes, counts = np.unique([draw.n_people for draw in draws], return_counts=True)
    assert sizes.tolist() == [1, 2, 4, 7]
    assert counts.tolist() == [5, 5, 5, 1]


@pytest.mark.parametrize("examples", [both_rhythms(), one_class_each()])
def test_each_larger_draw_holds_the_smaller_ones(examples: Examples) -> None:
    draws = nested_draws(examples, repeats=3)
    for repeat in range(3):
        people = [draw.people for draw in draws if draw.repeat == repeat]
        assert all(large[: len(small)] == small for small, large in pairwise(people))


@pytest.mark.parametrize("examples", [both_rhythms(), one_class_each()])
def test_every_draw_has_all_classes(examples: Examples) -> None:
    for draw in nested_draws(examples, repeats=20):
        assert set(examples.labels[draw.fold.train]) == set(examples.labels)


def test_numbers_too_small_for_all_classes_are_left_out() -> None:
    assert min(draw.n_people for draw in nested_draws(one_class_each())) == 4


def test_a_draw_is_fitted_on_all_examples_of_its_people_and_tested_on_all_test_people() -> None:
    examples = both_rhythms()
    draws = nested_draws(examples, repeats=2)
    guarded(examples, [draw.fold for draw in draws])
    for draw in draws:
        assert set(examples.subjects[draw.fold.train]) == set(draw.people)
        assert len(draw.fold.train) == 6 * draw.n_people
        assert (examples.sides[draw.fold.test] == "test").all()
        assert len(draw.fold.test) == 60


def test_draws_depend_on_the_seed_alone_and_differ_from_repeat_to_repeat() -> None:
    first, again, other = (nested_draws(both_rhythms(), seed=seed) for seed in (1, 1, 2))
    assert [draw.people for draw in first] == [draw.people for draw in again]
    assert [draw.people for draw in first] != [draw.people for draw in other]
    assert len({draw.people for draw in first if draw.n_people == 2}) > 1


def test_an_empty_side_is_refused() -> None:
    with pytest.raises(NotRunError, match="one side is empty"):
        nested_draws(made_examples([0, 1], ["a", "b"]))


def features_of(examples: Examples, person: float) -> np.ndarray:
    """Return features in which classes lie apart, moved about from person to person."""
    place = np.unique(examples.subjects, return_inverse=True)[1]
    shift = person * RNG.standard_normal((place.max() + 1, 8))[place]
    noise = RNG.standard_normal((len(examples), 8))
    return noise + shift + 1.5 * examples.labels[:, None]


def curves_of(
    examples: Examples, classes: tuple[str, ...], probe: str, *, person: float, repeats: int = 10
) -> dict[str, tuple[CurvePoint, ...]]:
    """Return the curves by metric of made features, one fit after the other."""
    features = features_of(examples, person)
    runs: dict[str, dict[int, list[Tally]]] = {}
    for draw in nested_draws(examples, repeats=repeats):
        fit, test = draw.fold.train, draw.fold.test
        answers = PROBES[probe].fit_predict(
            features[fit], examples.labels[fit], features[test], len(classes)
        )
        for name, tally in tally_folds(examples, [draw.fold], [answers], classes).items():
            runs.setdefault(name, {}).setdefault(draw.n_people, []).append(tally)
    return {name: curve(runs[name], draws=DRAWS) for name in COMPARED if name in runs}


def test_more_people_make_a_better_curve() -> None:
    examples = both_rhythms(train=16, test=20, each=10)
    points = curves_of(examples, ("no", "yes"), "svc", person=1.5)
    for name in ("accuracy", "auroc"):
        values = [point.value for point in points[name]]
        assert values[-1] > values[0] + 0.05, name
        assert all(0 <= p.low <= p.value <= p.high <= 1 for p in points[name])
    assert [point.n_people for point in points["auroc"]] == [1, 2, 4, 8, 16]
    assert len(points["auroc"][0].by_draw) == 10


def test_three_classes_have_a_curve_without_auroc() -> None:
    examples = one_class_each()
    points = curves_of(examples, ("n", "a", "o"), "neighbours", person=0.0, repeats=3)
    assert {"accuracy", "balanced accuracy", "f1"} <= set(points)
    assert "auroc" not in points


def test_the_interval_holds_the_luck_of_draws_and_of_people() -> None:
    people = RNG.uniform(0.3, 0.7, 30)
    same, varied = np.zeros(10), np.linspace(-0.2, 0.2, 10)
    steady, lucky = (
        curve({4: [Means(people + luck) for luck in lucks]}, draws=DRAWS)[0]
        for lucks in (same, varied)
    )
    deviation = people.std(ddof=1) / np.sqrt(30)
    assert steady.high - steady.low == pytest.approx(2 * 2.05 * deviation, rel=0.1)
    assert lucky.high - lucky.low > 1.5 * (steady.high - steady.low)
    assert lucky.deviation == pytest.approx(varied.std())


def test_points_come_in_the_order_of_their_number_of_people() -> None:
    runs = {n: [Means(RNG.random(9)) for _ in range(3)] for n in (4, 1, 2)}
    assert [point.n_people for point in curve(runs, draws=DRAWS)] == [1, 2, 4]
