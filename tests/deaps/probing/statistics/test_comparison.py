"""What a comparison says: figures, differences, scopes, and what counts."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from deaps.evaluation.comparisons import Comparison, compare
from deaps.evaluation.intervals import (
    Method,
    Scope,
    draw_figures,
    interval,
    own_variance,
    subject_weights,
)
from deaps.evaluation.metrics import Auroc, Means
from tests.deaps.probing.statistics.made_experiments import Design, methods_of

RNG = np.random.default_rng(0)


def made(effects: tuple[float, ...] = (0.0, 0.0, 0.0), **design: object) -> list[Method]:
    deviations = (4.0,) * len(effects)
    drawn = Design(effects=effects, seed_deviations=deviations, **design)  # type: ignore[arg-type]
    return methods_of(drawn.draw(np.random.default_rng(3)))


def test_a_figure_is_the_mean_over_seeds() -> None:
    methods = made()
    figure = compare(methods).figure("rival 2")
    runs = [run.value() for run in methods[2].runs]
    assert figure.by_run == pytest.approx(runs)
    assert figure.value == pytest.approx(np.mean(runs))
    assert figure.low < figure.value < figure.high


def test_a_difference_is_the_reference_less_the_rival() -> None:
    compared = compare(made((50.0, 0.0, 90.0)))
    first, second = compared.difference("rival 1"), compared.difference("rival 2")
    figures = {figure.name: figure.value for figure in compared.figures}
    assert first.value == pytest.approx(figures["deaps"] - figures["rival 1"])
    assert first.low > 0 > second.high
    assert first.counts
    assert second.counts


def test_intervals_for_the_family_are_no_narrower() -> None:
    for difference in compare(made()).differences:
        assert difference.family_low <= difference.low
        assert difference.family_high >= difference.high


def test_people_who_are_hard_for_all_methods_leave_differences_alone() -> None:
    """The same draws for all methods: what is common to them cancels."""
    contributions = Design(effects=(0.0, 0.0), seed_deviations=(4.0, 4.0)).draw(RNG)
    plain = compare(methods_of(contributions))
    harder = compare(methods_of(contributions + 500 * RNG.standard_normal(51)))
    assert harder.figures[0].high - harder.figures[0].low > 100
    assert harder.differences[0].low == pytest.approx(plain.differences[0].low)
    assert harder.differences[0].p == plain.differences[0].p


def test_neither_the_test_nor_the_interval_is_enough_alone() -> None:
    difference = compare(made((50.0, 0.0))).differences[0]
    assert difference.counts
    assert not replace(difference, p_holm=0.05).counts
    assert not replace(difference, family_low=-0.1).counts


def test_seven_subjects_cannot_be_significant_against_five_rivals() -> None:
    compared = compare(made((99.0, *(0.0,) * 5), people=7))
    assert not compared.can_be_significant
    assert compared.smallest_p == pytest.approx(5 / 64)
    assert not any(difference.counts for difference in compared.differences)
    assert all(difference.exact for difference in compared.differences)
    assert compare(made((99.0, 0.0), people=7)).can_be_significant


def with_runs(methods: list[Method], **runs: int) -> list[Method]:
    return [
        replace(m, runs=m.runs[: runs.get(m.name.replace(" ", "_"), len(m.runs))]) for m in methods
    ]


def scopes(compared: Comparison) -> list[Scope]:
    return [difference.scope for difference in compared.differences]


def test_one_seed_of_each_says_that_the_interval_is_over_people_alone() -> None:
    compared = compare(made(seeds=1))
    assert scopes(compared) == [Scope.ONE_SEED] * 2
    assert compared.figures[0].scope == Scope.ONE_SEED
    assert Scope.ONE_SEED.startswith("people alone")


def test_one_seed_beside_methods_with_several_borrows_their_luck() -> None:
    methods = made()
    compared = compare(with_runs(methods, rival_1=1))
    assert scopes(compared) == [Scope.BORROWED, Scope.PEOPLE_AND_SEEDS]
    alone = compare(with_runs(methods, rival_1=1, rival_2=1, deaps=1))
    widths = [c.figure("rival 1").high - c.figure("rival 1").low for c in (compared, alone)]
    assert widths[0] > widths[1]


def test_what_has_no_seed_has_no_luck() -> None:
    floors = [Method(name, (Means(RNG.standard_normal(51)),), seeded=False) for name in ("rr", "c")]
    compared = compare([*made(), *floors], reference="rr")
    assert compared.difference("c").scope == Scope.NO_SEEDS
    assert compared.difference("deaps").scope == Scope.PEOPLE_AND_SEEDS
    run = floors[0].runs[0]
    weights_only = compare(floors, reference="rr")
    assert compared.figure("rr") == weights_only.figure("rr")
    assert compared.figure("rr").value == pytest.approx(run.value())


def test_the_interval_over_people_alone_is_that_of_students_t() -> None:
    for n in (7, 51):
        x = RNG.standard_normal(n)
        drawn = draw_figures([Method("m", (Means(x),), seeded=False)], draws=40_000)["m"]
        low, high = interval(drawn.draws)
        expected = 2 * stats.t.ppf(0.975, n - 1) * x.std(ddof=1) / np.sqrt(n)
        assert high - low == pytest.approx(expected, rel=0.06)


def test_the_interval_over_seeds_is_that_of_students_t_with_pooled_freedom() -> None:
    """People who do not differ leave the luck of seeds alone: t with 4 degrees of freedom."""
    values = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    methods = [
        Method(name, tuple(Means(np.full(30, v)) for v in runs))
        for name, runs in zip("ab", values, strict=True)
    ]
    low, high = interval(draw_figures(methods, draws=40_000)["a"].draws)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 4) / np.sqrt(3), rel=0.03)


def seed_widths(*methods: tuple[tuple[float, ...], bool]) -> list[float]:
    """Return the widths of intervals of methods, each its runs' values and whether it is pooled."""
    made = [
        Method(str(place), tuple(Means(np.full(30, v)) for v in values), pooled=pooled)
        for place, (values, pooled) in enumerate(methods)
    ]
    drawn = draw_figures(made, draws=40_000)
    bounds = [interval(drawn[method.name].draws) for method in made]
    return [high - low for low, high in bounds]


def test_a_variant_has_the_larger_of_its_own_luck_and_the_methods_and_adds_nothing() -> None:
    method, steady, wild = ((1.0, 2.0, 3.0), True), ((5.0,) * 3, False), ((0.0, 5.0, 10.0), False)
    widths = seed_widths(method, steady, wild)
    expected = 2 * stats.t.ppf(0.975, 2) / np.sqrt(3)
    assert widths == pytest.approx([expected, expected, 5 * expected], rel=0.05)


def test_where_only_variants_have_several_runs_their_luck_is_that_of_all() -> None:
    expected = 2 * stats.t.ppf(0.975, 2)
    widths = seed_widths(((7.0,), True), ((1.0, 2.0, 3.0), False))
    assert widths == pytest.approx([expected, expected / np.sqrt(3)], rel=0.05)


def test_runs_that_differ_by_their_people_alone_have_no_luck_on_average() -> None:
    """Without the people's part taken out it would be 1 / 50."""
    weights = subject_weights(50, 200, seed=0)
    runs = RNG.standard_normal((400, 3, 50))
    variances = [own_variance(r.mean(axis=1), weights @ r.T / 50).variance for r in runs]
    assert np.mean(variances) == pytest.approx(0, abs=0.2 / 50)


def test_the_same_seed_gives_the_same_and_order_does_not_matter() -> None:
    methods = made()
    first, turned = compare(methods), compare(methods[::-1])
    assert first == compare(methods)
    assert first.difference("rival 1") == turned.difference("rival 1")
    assert first != compare(methods, seed=1)


def test_rivals_may_be_named() -> None:
    compared = compare(made(), rivals=["rival 2"])
    assert [difference.rival for difference in compared.differences] == ["rival 2"]
    assert len(compared.figures) == 3
    assert compared.differences[0].p_holm == compared.differences[0].p


def test_an_interval_stays_within_the_bounds_of_its_metric() -> None:
    nearly = np.append(np.ones(19), 0.9)
    methods = [Method("deaps", (Means(nearly),)), Method("r", (Means(nearly[::-1]),))]
    assert compare(methods, bounds=(0, 1)).figures[0].high == 1


def test_a_method_compared_with_its_twin_differs_by_nothing() -> None:
    methods = made()[:1]
    twin = replace(methods[0], name="twin", seeded=True)
    difference = compare([*methods, twin]).differences[0]
    assert (difference.value, difference.p, difference.counts) == (0.0, 1.0, False)


def test_methods_without_seeds_that_answer_alike_have_an_empty_interval() -> None:
    run = Means(RNG.standard_normal(20))
    methods = [Method(name, (run,), seeded=False) for name in ("deaps", "twin")]
    difference = compare(methods).differences[0]
    assert (difference.low, difference.family_low, difference.family_high) == (0, 0, 0)
    assert not difference.counts


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ([Method("deaps", (Means([1.0]),))], "two or more"),
        ([Method("deaps", (Means([1.0, 2.0]),))] * 2, "comes twice"),
        ([Method("deaps", ())], "has 0 runs"),
        ([Method("deaps", (Means([1.0, 2.0]),) * 2, seeded=False)], "has 2 runs"),
        ([Method("deaps", (Means([1.0, 2.0]), Means([1.0, 2.0, 3.0])))], r"\[2, 3\] subjects"),
        ([Method("byol", (Means([1.0, 2.0]),))], r"no runs of \['deaps'\]"),
    ],
)
def test_methods_that_do_not_fit_together_are_refused(methods: list[Method], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(methods)


def test_twenty_thousand_windows_take_seconds() -> None:
    """Twelve methods, three seeds, 51 people: 1.5 s on one core; a loaded machine gets 20."""
    subject = np.sort(RNG.integers(0, 51, 20_000))
    labels = RNG.random(20_000) < RNG.beta(0.3, 0.3, 51)[subject]
    methods = [
        Method(
            name,
            tuple(Auroc(labels, labels + RNG.standard_normal(20_000), subject, 51) for _ in "012"),
        )
        for name in ("deaps", *"abcdefghijk")
    ]
    started = time.process_time()
    compare(methods, bounds=(0, 1), draws=1000)
    assert time.process_time() - started < 20
