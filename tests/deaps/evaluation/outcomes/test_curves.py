"""Few-label curves and their differences: what their intervals cover, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deaps.benchmarks.interface import Benchmark
from deaps.evaluation.comparisons import Family
from deaps.evaluation.curves import FewLabelFigures, few_label_figures
from deaps.evaluation.document import CurvePoint, Difference
from deaps.evaluation.examples import Examples, Fold
from deaps.evaluation.intervals import Entry, label_variance
from deaps.evaluation.plan import Plan
from deaps.evaluation.probes import PROBES, Answers
from tests.deaps.evaluation.outcomes.test_figures import ThreeClasses, TwoClasses, answers, plan_of
from tests.deaps.evaluation.test_few_labels import both_rhythms, one_class_each

RNG = np.random.default_rng(0)
RIGHT = 0.7
"""Share of right answers of a made run, before any luck."""


def curve_plan(kind: type[Benchmark], examples: Examples) -> Plan:
    test = np.flatnonzero(examples.sides == "test")
    return plan_of(kind, examples, [Fold("test", np.flatnonzero(examples.sides == "train"), test)])


PLAN = curve_plan(TwoClasses, both_rhythms(train=7, test=30, each=20))
PLACES = {
    people: [k for k, draw in enumerate(PLAN.label_draws) if draw.n_people == people]
    for people in (1, 2, 4, 7)
}


def run(share: float, draw_luck: NDArray[np.float64] | float = 0.0) -> list[Answers]:
    """Return answers to every draw of annotated people, so often right on each tested person."""
    shares = np.clip(share + np.broadcast_to(draw_luck, len(PLAN.label_draws)), 0, 1)
    made = []
    for part, draw in zip(shares, PLAN.label_draws, strict=True):
        truth = PLAN.examples.labels[draw.fold.test].astype(np.int64)
        right = np.arange(len(truth)) % 20 < round(20 * part)
        made.append(answers(np.where(right, truth, 1 - truth), 2))
    return made


def noisy_run(share: float) -> list[Answers]:
    """Return answers that are right by chance, with other people right in every run."""
    made = []
    for draw in PLAN.label_draws:
        truth = PLAN.examples.labels[draw.fold.test].astype(np.int64)
        made.append(answers(np.where(RNG.random(len(truth)) < share, truth, 1 - truth), 2))
    return made


def points(figures: FewLabelFigures, name: str = "own") -> dict[int, CurvePoint]:
    (curve,) = (c for c in figures.curves if (c.representation, c.metric) == (name, "accuracy"))
    return {point.people: point for point in curve.points}


def width(point: CurvePoint) -> float:
    assert point.low is not None and point.high is not None  # noqa: PT018 - for the type checker
    return point.high - point.low


def differences(figures: FewLabelFigures, comparator: str) -> dict[int, Difference]:
    return {
        each.people: difference
        for each in figures.comparisons
        if each.comparison.metric == "accuracy"
        for difference in each.comparison.differences
        if difference.comparator == comparator
    }


def test_curves_are_means_over_draws_and_seeds() -> None:
    runs = (noisy_run(0.6), noisy_run(0.8))
    found = points(few_label_figures(PLAN, [Entry("own", runs, "method")]))
    assert list(found) == [1, 2, 4, 7]
    for people, point in found.items():
        shares = [
            np.mean(own[place].labels == PLAN.examples.labels[PLAN.label_draws[place].fold.test])
            for own in runs
            for place in PLACES[people]
        ]
        assert point.value == pytest.approx(np.mean(shares))
        assert point.low is not None and point.high is not None  # noqa: PT018
        assert point.low <= point.value <= point.high
        assert point.draws == len(PLACES[people])


def test_the_interval_covers_the_luck_of_seeds() -> None:
    """Every person is answered alike, so that all width is that of the seeds."""
    alike = Entry("own", (run(RIGHT),) * 3, "method")
    apart = Entry("own", (run(0.6), run(0.7), run(0.8)), "method")
    narrow, wide = (points(few_label_figures(PLAN, [own])) for own in (alike, apart))
    for people in PLACES:
        assert width(narrow[people]) == pytest.approx(0, abs=1e-9)
        # Student's t with two degrees of freedom: 2 * 4.30 * 0.1 / sqrt(3); 200 draws are few.
        assert width(wide[people]) == pytest.approx(0.497, rel=0.25)
        assert wide[people].scope == "people and seeds"


def test_the_interval_covers_the_luck_of_the_draws_of_annotated_people() -> None:
    luck = np.zeros(len(PLAN.label_draws))
    luck[PLACES[2]] = (-0.1, 0.0, 0.1)
    found = points(few_label_figures(PLAN, [Entry("own", (run(RIGHT, luck),) * 3, "method")]))
    ratio, freedom = label_variance([PLAN.label_draws[place].people for place in PLACES[2]])
    error = np.sqrt(ratio) * np.std([-0.1, 0.0, 0.1])
    assert ratio > 1 / 2  # they share people
    assert width(found[2]) == pytest.approx(2 * stats.t.ppf(0.975, freedom) * error, rel=0.25)
    assert width(found[4]) == pytest.approx(0, abs=1e-9)


def compared(
    reference: tuple[list[Answers], ...], comparator: tuple[list[Answers], ...]
) -> FewLabelFigures:
    entries = [
        Entry("deaps", reference, "method"),
        Entry("byol", comparator, "method"),
        Entry("rr", comparator[:1], "baseline", seeded=False),
    ]
    families = [
        Family("methods", "deaps", ("byol", "clocs")),
        Family("baselines", "deaps", ("rr",)),
    ]
    return few_label_figures(PLAN, entries, families)


def test_every_point_has_the_references_difference_to_every_comparator_that_there_is() -> None:
    figures = compared(
        tuple(noisy_run(0.9) for _ in range(3)), tuple(noisy_run(0.6) for _ in range(3))
    )
    for comparator in ("byol", "rr"):
        found = differences(figures, comparator)
        assert list(found) == [1, 2, 4, 7]
        for people, difference in found.items():
            ours, theirs = (points(figures, name)[people].value for name in ("deaps", comparator))
            assert difference.value == pytest.approx(ours - theirs)
            assert difference.family_low > 0
            assert difference.significant
    assert {c.comparison.metric for c in figures.comparisons} == {
        *("accuracy", "balanced accuracy", "auroc"),
    }


def test_what_an_easy_draw_gives_to_all_methods_leaves_their_difference_alone() -> None:
    luck = np.zeros(len(PLAN.label_draws))
    luck[PLACES[2]] = (-0.1, 0.0, 0.1)
    figures = compared((run(0.8, luck),) * 3, (run(0.6, luck),) * 3)
    difference = differences(figures, "byol")[2]
    assert (difference.low, difference.high) == pytest.approx((0.2, 0.2))
    assert width(points(figures, "deaps")[2]) > 0.3


def test_a_difference_that_seeds_may_have_made_does_not_count() -> None:
    """All people agree on it, so that the test alone would call it a difference."""
    difference = differences(compared((run(0.5), run(0.7), run(0.9)), (run(0.65),) * 3), "byol")[4]
    assert difference.p_holm < 0.05
    assert not difference.significant


def test_twenty_tested_people_do_not_take_half_a_million_patterns_at_every_point() -> None:
    plan = curve_plan(TwoClasses, both_rhythms(train=3, test=20))
    runs = [[answers(RNG.integers(0, 2, 120), 2) for _ in plan.label_draws] for _ in range(2)]
    figures = few_label_figures(
        plan,
        [Entry(name, (own,), "method") for name, own in zip("ab", runs, strict=True)],
        [Family("methods", "a", ("b",))],
    )
    assert {d.exact for c in figures.comparisons for d in c.comparison.differences} == {False}


def test_one_tested_person_has_curves_without_intervals() -> None:
    plan = curve_plan(TwoClasses, both_rhythms(train=3, test=1))
    given = [answers(RNG.integers(0, 2, 6), 2) for _ in plan.label_draws]
    figures = few_label_figures(plan, [Entry("own", (given,), "method")])
    assert {(p.low, p.high, p.scope) for p in points(figures).values()} == {(None, None, None)}


def fitted(plan: Plan, probe: str, *, person: float) -> FewLabelFigures:
    """Return the figures of made features, moved about from person to person."""
    examples, rng = plan.examples, np.random.default_rng(0)
    place = np.unique(examples.subjects, return_inverse=True)[1]
    features = rng.standard_normal((len(examples), 8)) + 1.5 * examples.labels[:, None]
    features += person * rng.standard_normal((place.max() + 1, 8))[place]
    given = [
        PROBES[probe].fit_predict(
            features[draw.fold.train],
            examples.labels[draw.fold.train],
            features[draw.fold.test],
            len(plan.benchmark.classes),
        )
        for draw in plan.label_draws
    ]
    return few_label_figures(plan, [Entry("own", (given,), "method")])


def test_more_people_make_a_better_curve() -> None:
    plan = curve_plan(TwoClasses, both_rhythms(train=16, test=20, each=10))
    figures = fitted(plan, "svc", person=1.5)
    assert {curve.metric for curve in figures.curves} == {"accuracy", "balanced accuracy", "auroc"}
    for curve in figures.curves:
        assert curve.points[-1].value > curve.points[0].value + 0.03, curve.metric
        assert [point.people for point in curve.points] == [1, 2, 4, 8, 16]


def test_three_classes_have_a_curve_without_auroc() -> None:
    figures = fitted(curve_plan(ThreeClasses, one_class_each()), "neighbours", person=0.0)
    assert {c.metric for c in figures.curves} == {"accuracy", "balanced accuracy", "f1"}
