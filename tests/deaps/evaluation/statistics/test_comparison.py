"""What a comparison says: figures, differences, scopes, and what counts."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from deaps.evaluation.comparisons import ALPHA, Family, compare
from deaps.evaluation.intervals import (
    Entry,
    Scope,
    estimate,
    interval,
    own_variance,
    smallest_p,
    subject_weights,
)
from deaps.evaluation.tallies import Auroc, Means, Tally
from tests.deaps.evaluation.statistics.made_experiments import (
    Compared,
    Design,
    compared,
    methods_of,
)

RNG = np.random.default_rng(0)


def made(effects: tuple[float, ...] = (0.0, 0.0, 0.0), **design: object) -> list[Entry[Tally]]:
    deviations = (4.0,) * len(effects)
    drawn = Design(effects=effects, seed_deviations=deviations, **design)  # type: ignore[arg-type]
    return methods_of(drawn.draw(np.random.default_rng(3)))


def test_a_figure_is_the_mean_over_seeds() -> None:
    methods = made()
    figure = compared(methods).estimates["comparator 2"]
    runs = [run.value() for run in methods[2].runs]
    assert figure.by_run == pytest.approx(runs)
    assert figure.value == pytest.approx(np.mean(runs))
    low, high = figure.interval() or (np.nan, np.nan)
    assert low < figure.value < high


def test_a_difference_is_the_reference_less_the_comparator() -> None:
    found = compared(made((50.0, 0.0, 90.0)))
    first, second = found.difference("comparator 1"), found.difference("comparator 2")
    figures = {name: own.value for name, own in found.estimates.items()}
    assert first.value == pytest.approx(figures["deaps"] - figures["comparator 1"])
    assert first.low > 0 > second.high
    assert first.significant
    assert second.significant


def test_intervals_for_the_family_are_no_narrower() -> None:
    for difference in compared(made()).differences:
        assert difference.family_low <= difference.low
        assert difference.family_high >= difference.high


def test_people_who_are_hard_for_all_methods_leave_differences_alone() -> None:
    """The same draws for all methods: what is common to them cancels."""
    contributions = Design(effects=(0.0, 0.0), seed_deviations=(4.0, 4.0)).draw(RNG)
    plain = compared(methods_of(contributions))
    harder = compared(methods_of(contributions + 500 * RNG.standard_normal(51)))
    assert harder.width("deaps") > 100
    assert harder.differences[0].low == pytest.approx(plain.differences[0].low)
    assert harder.differences[0].p == plain.differences[0].p


def test_neither_the_test_nor_the_interval_is_enough_alone() -> None:
    few = compared(made((99.0, *(0.0,) * 5), people=7)).differences[0]
    assert few.family_low > 0
    assert few.p_holm >= ALPHA
    assert not few.significant
    rng = np.random.default_rng(1)
    uneven = [compared(methods_of(Design(seed_deviations=(20.0,) * 6).draw(rng))) for _ in range(5)]
    by_test_alone = [
        found
        for each in uneven
        for found in each.differences
        if found.p_holm < ALPHA and found.family_low <= 0 <= found.family_high
    ]
    assert by_test_alone
    assert not any(found.significant for found in by_test_alone)


def test_seven_subjects_cannot_be_significant_against_five_comparators() -> None:
    found = compared(made((99.0, *(0.0,) * 5), people=7))
    assert found.comparison.smallest_p == pytest.approx(5 / 64)
    assert not any(difference.significant for difference in found.differences)
    assert all(difference.exact for difference in found.differences)
    assert smallest_p(7) < ALPHA


def with_runs(methods: list[Entry[Tally]], **runs: int) -> list[Entry[Tally]]:
    return [
        replace(m, runs=m.runs[: runs.get(m.name.replace(" ", "_"), len(m.runs))]) for m in methods
    ]


def scopes(found: Compared) -> list[str]:
    return [difference.scope for difference in found.differences]


def test_one_seed_of_each_says_that_the_interval_is_over_people_alone() -> None:
    found = compared(made(seeds=1))
    assert scopes(found) == [Scope.ONE_SEED] * 2
    assert found.estimates["deaps"].scope == Scope.ONE_SEED
    assert Scope.ONE_SEED.startswith("people alone")


def test_one_seed_beside_methods_with_several_borrows_their_variance() -> None:
    methods = made()
    found = compared(with_runs(methods, comparator_1=1))
    assert scopes(found) == [Scope.BORROWED, Scope.PEOPLE_AND_SEEDS]
    alone = compared(with_runs(methods, comparator_1=1, comparator_2=1, deaps=1))
    assert found.width("comparator 1") > alone.width("comparator 1")


def test_what_has_no_seed_has_no_variance_over_seeds() -> None:
    baselines = [
        Entry(name, (Means(RNG.standard_normal(51)),), "baseline", seeded=False)
        for name in ("rr", "c")
    ]
    found = compared([*made(), *baselines], reference="rr")
    assert found.difference("c").scope == Scope.NO_SEEDS
    assert found.difference("deaps").scope == Scope.PEOPLE_AND_SEEDS
    alone = compared(baselines, reference="rr")
    assert found.bounds("rr") == alone.bounds("rr")
    assert found.estimates["rr"].value == pytest.approx(baselines[0].runs[0].value())


def test_a_baseline_and_trained_methods_share_no_variance_over_seeds() -> None:
    wild = Entry("random", tuple(Means(np.full(51, v)) for v in (-50.0, 0.0, 50.0)), "baseline")
    beside = compared([*made(), wild])
    assert beside.bounds("deaps") == compared(made()).bounds("deaps")


def test_the_interval_over_people_alone_is_that_of_students_t() -> None:
    for n in (7, 51):
        x = RNG.standard_normal(n)
        drawn = estimate([Entry("m", (Means(x),), seeded=False)], draws=40_000)["m"]
        low, high = interval(drawn.draws)
        expected = 2 * stats.t.ppf(0.975, n - 1) * x.std(ddof=1) / np.sqrt(n)
        assert high - low == pytest.approx(expected, rel=0.06)


def test_the_interval_over_seeds_is_that_of_students_t_with_pooled_freedom() -> None:
    """People who do not differ leave the variance of seeds alone: t with 4 degrees of freedom."""
    values = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    methods = [
        Entry(name, tuple(Means(np.full(30, v)) for v in runs))
        for name, runs in zip("ab", values, strict=True)
    ]
    low, high = interval(estimate(methods, draws=40_000)["a"].draws)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 4) / np.sqrt(3), rel=0.03)


def seed_widths(*methods: tuple[tuple[float, ...], bool]) -> list[float]:
    """Return the widths of intervals of methods, each its runs' values and whether it is pooled."""
    made = [
        Entry(
            str(place),
            tuple(Means(np.full(30, v)) for v in values),
            "method" if pooled else "ablation",
        )
        for place, (values, pooled) in enumerate(methods)
    ]
    drawn = estimate(made, draws=40_000)
    bounds = [interval(drawn[method.name].draws) for method in made]
    return [high - low for low, high in bounds]


def test_a_variant_has_the_larger_of_its_own_variance_and_the_methods_and_adds_nothing() -> None:
    method, steady, wild = ((1.0, 2.0, 3.0), True), ((5.0,) * 3, False), ((0.0, 5.0, 10.0), False)
    widths = seed_widths(method, steady, wild)
    expected = 2 * stats.t.ppf(0.975, 2) / np.sqrt(3)
    assert widths == pytest.approx([expected, expected, 5 * expected], rel=0.05)


def test_where_only_variants_have_several_runs_their_variance_is_that_of_all() -> None:
    expected = 2 * stats.t.ppf(0.975, 2)
    widths = seed_widths(((7.0,), True), ((1.0, 2.0, 3.0), False))
    assert widths == pytest.approx([expected, expected / np.sqrt(3)], rel=0.05)


def test_runs_that_differ_by_their_people_alone_have_no_variance_over_seeds_on_average() -> None:
    """Without the people's part taken out it would be 1 / 50."""
    weights = subject_weights(50, 200, seed=0)
    runs = RNG.standard_normal((400, 3, 50))
    variances = [own_variance(r.mean(axis=1), weights @ r.T / 50).variance for r in runs]
    assert np.mean(variances) == pytest.approx(0, abs=0.2 / 50)


def test_the_same_seed_gives_the_same_and_order_does_not_matter() -> None:
    methods = made()
    first, turned = compared(methods).comparison, compared(methods[::-1]).comparison
    assert first == compared(methods).comparison
    assert first.difference("comparator 1") == turned.difference("comparator 1")
    assert first != compared(methods, seed=1).comparison


def test_a_family_has_the_comparators_that_it_names() -> None:
    found = compared(made(), comparators=["comparator 2"])
    assert [difference.comparator for difference in found.differences] == ["comparator 2"]
    assert found.differences[0].p_holm == found.differences[0].p


def test_nothing_is_compared_without_the_reference_or_without_comparators() -> None:
    estimates = estimate(made())
    assert compare(estimates, Family("methods", "absent", ("comparator 1",)), "accuracy") is None
    assert compare(estimates, Family("methods", "deaps", ("absent",)), "accuracy") is None


def test_one_person_gives_no_estimate() -> None:
    assert estimate([Entry("deaps", (Means([1.0]),))]) == {}


def test_an_interval_stays_within_the_bounds_of_its_metric() -> None:
    nearly = np.append(np.ones(19), 0.9)
    methods = [Entry("deaps", (Means(nearly),)), Entry("r", (Means(nearly[::-1]),))]
    assert compared(methods).bounds("deaps", (0, 1)).high == 1


def test_a_method_compared_with_its_twin_differs_by_nothing() -> None:
    methods = made()[:1]
    twin = replace(methods[0], name="twin", seeded=True)
    difference = compared([*methods, twin]).differences[0]
    assert (difference.value, difference.p, difference.significant) == (0.0, 1.0, False)


def test_methods_without_seeds_that_answer_alike_have_an_empty_interval() -> None:
    run = Means(RNG.standard_normal(20))
    methods = [Entry(name, (run,), seeded=False) for name in ("deaps", "twin")]
    difference = compared(methods).differences[0]
    assert (difference.low, difference.family_low, difference.family_high) == (0, 0, 0)
    assert not difference.significant


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([Entry("deaps", (Means([1.0, 2.0]),))] * 2, "comes twice"),
        ([Entry("deaps", ())], "has 0 runs"),
        ([Entry("deaps", (Means([1.0, 2.0]),) * 2, seeded=False)], "has 2 runs"),
        ([Entry("deaps", (Means([1.0, 2.0]), Means([1.0, 2.0, 3.0])))], r"\[2, 3\] subjects"),
    ],
)
def test_entries_that_do_not_fit_together_are_refused(
    entries: list[Entry[Tally]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        estimate(entries)


def test_twenty_thousand_windows_take_seconds() -> None:
    """Twelve methods, three seeds, 51 people: 1.5 s on one core; a loaded machine gets 20."""
    subject = np.sort(RNG.integers(0, 51, 20_000))
    labels = RNG.random(20_000) < RNG.beta(0.3, 0.3, 51)[subject]
    methods = [
        Entry(
            name,
            tuple(Auroc(labels, labels + RNG.standard_normal(20_000), subject, 51) for _ in "012"),
        )
        for name in ("deaps", *"abcdefghijk")
    ]
    started = time.process_time()
    compared(methods)
    assert time.process_time() - started < 20
