"""Made experiments: how often nothing is called something, and how often something is found."""

from __future__ import annotations

import numpy as np
import pytest

from tests.deaps.evaluation.statistics.made_experiments import (
    ONE_DEVIATION,
    Design,
    auroc_methods,
    compared,
    methods_of,
    simulate,
)

NOTHING = (0.0,) * 6
BETTER_THAN_ALL = (ONE_DEVIATION, *(0.0,) * 5)
BETTER_THAN_ONE = (0.0, -ONE_DEVIATION, *(0.0,) * 4)


@pytest.mark.slow
def test_at_most_six_percent_of_experiments_without_effect_call_anything_different() -> None:
    simulated = simulate(Design(effects=NOTHING), 2000)
    alarms = simulated.called.any(axis=1).mean()
    by_test = [any(d.p_holm < 0.05 for d in c.differences) for c in simulated.comparisons]
    print(f"\nfalse alarms: {alarms:.1%}; of the sign flips alone: {np.mean(by_test):.1%}")
    print(f"coverage: {simulated.difference_coverage:.1%}, {simulated.figure_coverage:.1%}")
    assert alarms <= 0.06
    assert np.mean(by_test) > 0.2  # why the interval over seeds must agree


@pytest.mark.slow
def test_an_effect_of_one_deviation_is_found_in_ninety_percent() -> None:
    all_comparators = simulate(Design(effects=BETTER_THAN_ALL), 1000).called.mean()
    one_comparator = simulate(Design(effects=BETTER_THAN_ONE), 1000).called[:, 0].mean()
    print(f"\nfound: {all_comparators:.1%} against all, {one_comparator:.1%} against one of five")
    assert all_comparators >= 0.9
    assert one_comparator >= 0.9


@pytest.mark.slow
def test_with_seeds_that_deviate_by_a_point_ten_points_are_found_and_four_are_not() -> None:
    """The open experiment's size, and the variance of seeds that it has."""
    found = {}
    for points in (4.0, 7.0, 10.0):
        effects = (0.0, -points, *(0.0,) * 4)
        design = Design(effects=effects, seed_deviations=(1.0,) * 6)
        found[points] = simulate(design, 1000).called[:, 0].mean()
    print(f"\nfound, by points: {found}")
    assert found[10.0] >= 0.9
    assert found[4.0] < 0.3


@pytest.mark.slow
def test_a_metric_that_is_no_mean_over_people_keeps_its_false_alarms_and_coverage() -> None:
    rng = np.random.default_rng(11)
    found = [compared(auroc_methods(rng), flips=999, seed=number) for number in range(600)]
    deviation = np.mean([np.std(e.by_run, ddof=1) for c in found for e in c.estimates.values()])
    alarms = np.mean([any(d.significant for d in c.differences) for c in found])
    coverage = np.mean([[d.low <= 0 <= d.high for d in c.differences] for c in found])
    print(
        f"\nAUROC: seeds deviate by {deviation:.3f}, alarms {alarms:.1%}, coverage {coverage:.1%}"
    )
    assert 0.03 < deviation < 0.06
    assert alarms <= 0.06
    assert 0.93 <= coverage <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(("people", "seeds"), [(7, 3), (23, 3), (51, 3), (51, 5), (51, 2)])
def test_intervals_cover_the_truth(people: int, seeds: int) -> None:
    simulated = simulate(Design(people=people, seeds=seeds), 500)
    differences, figures = simulated.difference_coverage, simulated.figure_coverage
    print(f"\n{people} people, {seeds} seeds: differences {differences:.1%}, figures {figures:.1%}")
    assert 0.9 <= differences <= 0.99
    assert 0.9 <= figures <= 0.99


def test_few_experiments_without_effect_call_anything_different() -> None:
    """The small twin of the slow one: 3 alarms are expected of 60, 30 of the test alone."""
    simulated = simulate(Design(), 60, draws=400)
    assert simulated.called.any(axis=1).sum() <= 8
    assert simulated.difference_coverage >= 0.88


def test_a_large_effect_is_found_beside_the_variance_of_seeds() -> None:
    simulated = simulate(Design(effects=(2 * ONE_DEVIATION, *(0.0,) * 5)), 10, draws=400)
    assert simulated.called.mean() > 0.95


def test_an_interval_of_one_seed_misses_what_seeds_do() -> None:
    simulated = simulate(Design(seeds=1), 60, draws=400)
    assert simulated.difference_coverage < 0.75


def test_a_reference_that_varies_more_than_its_comparators_widens_its_differences() -> None:
    rng = np.random.default_rng(0)
    even = Design().draw(rng)
    uneven = even.copy()
    uneven[0] += np.array([-12.0, 0.0, 12.0])[:, None]
    narrow, wide = (compared(methods_of(c), flips=99) for c in (even, uneven))
    assert wide.width("deaps") > 1.5 * narrow.width("deaps")
