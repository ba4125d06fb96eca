"""Made few-label experiments: draws of labelled people beside tested people and seeds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from deaps.evaluation.comparisons import Family, compare
from deaps.evaluation.document import Difference
from deaps.evaluation.intervals import (
    Entry,
    Estimate,
    Scope,
    estimate,
    interval,
    label_variance,
    with_label_draws,
)
from deaps.evaluation.tallies import Averaged, Means
from tests.deaps.evaluation.statistics.made_experiments import Design

DRAW_DEVIATION = 8.0
"""In points: what a draw of labelled people does to one method and not to another."""

LABEL_DRAWS = 10
APART = [(f"person {k}",) for k in range(LABEL_DRAWS)]
"""Draws that share nobody."""


def made_curve_point(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the contributions of six alike methods, (methods, seeds, draws, people)."""
    fixed = Design().draw(rng)[:, :, np.newaxis]
    methods, seeds, _, people = fixed.shape
    easy = 5 * rng.standard_normal((1, 1, LABEL_DRAWS, 1))
    own = DRAW_DEVIATION * rng.standard_normal((methods, 1, LABEL_DRAWS, 1))
    noise = 8 * rng.standard_normal((methods, seeds, LABEL_DRAWS, people))
    return np.asarray(fixed + easy + own + noise)


def differences(contributions: NDArray[np.float64], *, seed: int) -> tuple[Difference, ...]:
    names = ["deaps", *(f"comparator {k}" for k in range(1, len(contributions)))]
    methods = [
        Entry(name, tuple(Averaged([Means(draw) for draw in run]) for run in runs))
        for name, runs in zip(names, contributions, strict=True)
    ]
    drawn = estimate(methods, draws=400, seed=seed)
    estimates = {
        m.name: with_label_draws(drawn[m.name], own.mean(axis=(0, 2)), APART, seed=seed)
        for m, own in zip(methods, contributions, strict=True)
    }
    family = Family("methods", "deaps", tuple(names[1:]))
    found = compare(estimates, family, "accuracy", flips=199, seed=seed)
    assert found is not None
    return found.differences


def test_intervals_of_differences_hold_the_variance_of_people_seeds_and_labels() -> None:
    """Without the labels' variance they would hold the truth in 87 % of the cases."""
    rng = np.random.default_rng(7)
    found = [differences(made_curve_point(rng), seed=number) for number in range(60)]
    coverage = np.mean([[d.low <= 0 <= d.high for d in each] for each in found])
    alarms = sum(any(d.significant for d in each) for each in found)
    print(f"\ncoverage {coverage:.1%}, {alarms} alarms of 60")
    assert coverage >= 0.93
    assert alarms <= 6


ONE = Entry("deaps", (Means([0.5, 0.5]),))


def figure(draws: int = 40_000) -> Estimate:
    return Estimate(ONE, 0.5, (0.5,), np.full(draws, 0.5), Scope.PEOPLE_AND_SEEDS)


def test_the_variance_of_labels_is_that_of_students_t() -> None:
    by_draw = np.array([0.4, 0.5, 0.6])
    low, high = interval(with_label_draws(figure(), by_draw, APART[:3]).draws)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3), rel=0.05)


def test_all_people_together_have_no_variance() -> None:
    drawn = figure()
    assert with_label_draws(drawn, np.array([0.4]), [("a", "b")]) is drawn
    assert with_label_draws(drawn, np.array([0.4, 0.4]), [("a", "b"), ("b", "a")]) is drawn


def test_variance_that_two_methods_share_cancels() -> None:
    by_draw = np.array([0.4, 0.5, 0.6])
    first, second = (
        with_label_draws(figure(10), by_draw + shift, APART[:3]) for shift in (0.0, 0.2)
    )
    np.testing.assert_allclose(first.draws, second.draws)


def test_draws_that_share_nobody_have_the_usual_standard_error() -> None:
    ratio, freedom = label_variance([("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")])
    assert (ratio, freedom) == (pytest.approx(1 / 3), 3)


def test_the_same_person_drawn_five_times_is_one_person() -> None:
    """Two people, each drawn five times, are two draws and not ten."""
    ratio, freedom = label_variance([("a",), ("b",)] * 5)
    assert (ratio, freedom) == (pytest.approx(1.0), 1)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_draws_from_the_same_seven_people_hold_the_variance_of_these_seven(size: int) -> None:
    """Each person adds something of their own to every draw that holds them."""
    rng = np.random.default_rng(size)
    inside, naive = [], []
    for number in range(400):
        adds = rng.standard_normal(7)
        draws = [rng.choice(7, size, replace=False) for _ in range(LABEL_DRAWS)]
        by_draw = np.array([adds[draw].mean() for draw in draws])
        mean = float(by_draw.mean())
        drawn = Estimate(ONE, mean, (mean,), np.full(400, mean), Scope.PEOPLE_AND_SEEDS)
        held = [tuple(f"person {k}" for k in draw) for draw in draws]
        low, high = interval(with_label_draws(drawn, by_draw, held, seed=number).draws)
        inside.append(low <= 0 <= high)
        half = stats.t.ppf(0.975, LABEL_DRAWS - 1) * stats.sem(by_draw)
        naive.append(abs(mean) <= half)
    print(f"\n{size} of 7 people: coverage {np.mean(inside):.1%}, as if apart {np.mean(naive):.1%}")
    assert 0.92 <= np.mean(inside) <= 0.99
    assert np.mean(naive) < 0.88
