"""Every method against a reference: paired differences, intervals, significance, mean ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from deaps.config import BenchmarkSettings
from deaps.evaluation import document
from deaps.evaluation.document import ComparisonFamily, RepresentationRole
from deaps.evaluation.intervals import (
    EXACT_UP_TO,
    DrawnFigure,
    Interval,
    Method,
    PermutationTest,
    Scope,
    draw_figures,
    holm,
    interval,
    sign_flip_test,
    smallest_p,
    widen_for_family,
)
from deaps.evaluation.metrics import Tally
from deaps.evaluation.probes import Answers
from deaps.method_registry import DEAPS

ALPHA = 0.05
FLIPS = 9_999
"""Patterns of signs drawn where there are too many to try all."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A method's figure: the mean over its seeds."""

    name: str
    value: float
    low: float
    high: float
    """Of its interval at 95 %."""
    by_run: tuple[float, ...]
    """For each seed, in the order given."""
    scope: Scope
    """What the interval covers."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The reference less a rival, on the same people."""

    rival: str
    value: float
    low: float
    high: float
    """Of its interval at 95 %, this rival looked at alone."""
    family_low: float
    family_high: float
    """Of the interval that allows for the number of rivals; the one that decides."""
    p: float
    """Of the sign-flip test over people."""
    p_holm: float
    """The same after Holm over the rivals."""
    exact: bool
    """Whether the test tried every pattern of signs."""
    scope: Scope
    """What the intervals cover."""

    @property
    def counts(self) -> bool:
        """Whether the test after Holm and the interval over people and seeds agree on it.

        The test alone ignores the luck of a seed, and the interval alone leans on normal errors.
        Where the scope is people alone, it is a statement about these runs, not these methods.
        """
        family = Interval(self.family_low, self.family_high)
        return self.p_holm < ALPHA and family.excludes_zero


@dataclass(frozen=True, slots=True)
class Comparison:
    """All methods on one benchmark by one metric."""

    reference: str
    n_subjects: int
    figures: tuple[Figure, ...]
    differences: tuple[Difference, ...]
    smallest_p: float
    """After Holm, the smallest p that so many subjects can give against so many rivals."""

    @property
    def can_be_significant(self) -> bool:
        """Whether there are subjects enough for any difference to count."""
        return self.smallest_p < ALPHA

    def figure(self, name: str) -> Figure:
        """Return the figure of a method."""
        return next(figure for figure in self.figures if figure.name == name)

    def difference(self, rival: str) -> Difference:
        """Return the difference to a rival."""
        return next(difference for difference in self.differences if difference.rival == rival)


def compare(
    methods: Sequence[Method],
    *,
    reference: str = DEAPS.name,
    rivals: Sequence[str] | None = None,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    draws: int = 1000,
    flips: int = FLIPS,
    seed: int = 0,
) -> Comparison:
    """Return the figures of all methods, and the reference's differences to its rivals.

    Parameters
    ----------
    methods
        With runs by one metric on the same subjects, in the same order.
    reference
        Name of the method that the others are compared with.
    rivals
        Names of the others; all of them by default. They are one family: Holm's rule and the
        family's intervals allow for their number.
    bounds
        Of the metric, such as (0, 1): no interval of a figure goes beyond.
    draws
        Of people and seeds, behind the intervals.
    flips
        Patterns of signs drawn where there are too many to try all.

    Raises
    ------
    ValueError
        If the methods do not fit together, or there is no reference among them.
    """
    names = [m.name for m in methods if m.name != reference] if rivals is None else list(rivals)
    if missing := [n for n in (reference, *names) if n not in {m.name for m in methods}]:
        raise ValueError(f"no runs of {missing}; there are {sorted(m.name for m in methods)}")
    drawn = draw_figures(methods, draws=draws, seed=seed)
    contest = {method.name: (method, drawn[method.name]) for method in methods}
    ours = contest[reference][0].runs
    return Comparison(
        reference,
        ours[0].n_subjects,
        tuple(figure_of(name, figure, bounds) for name, (_, figure) in contest.items()),
        differences_to(contest, reference=reference, rivals=names, flips=flips, seed=seed),
        smallest_p(ours[0].n_subjects, len(names)),
    )


def differences_to(
    contest: Mapping[str, tuple[Method, DrawnFigure]],
    *,
    reference: str,
    rivals: Sequence[str],
    flips: int = FLIPS,
    exact_up_to: int = EXACT_UP_TO,
    seed: int = 0,
) -> tuple[Difference, ...]:
    """Return the reference's differences to some rivals, who are one family.

    The figures must have been drawn with the same seed and number of draws, which makes the
    draws of people the same for all.
    """
    ours = contest[reference][0].runs
    tests = [
        sign_flip_test(
            ours, contest[rival][0].runs, flips=flips, exact_up_to=exact_up_to, seed=seed
        )
        for rival in rivals
    ]
    return _differences(contest[reference][1], {r: contest[r][1] for r in rivals}, tests)


def figure_of(name: str, drawn: DrawnFigure, bounds: tuple[float, float]) -> Figure:
    """Return a figure with its interval, which stays within the metric's bounds."""
    low, high = np.clip(interval(drawn.draws), *bounds).tolist()
    return Figure(name, drawn.value, low, high, drawn.by_run, drawn.scope)


def _differences(
    reference: DrawnFigure, rivals: dict[str, DrawnFigure], tests: Sequence[PermutationTest]
) -> tuple[Difference, ...]:
    if not rivals:
        return ()
    values = [reference.value - rival.value for rival in rivals.values()]
    draws = [reference.draws - rival.draws for rival in rivals.values()]
    alone = [interval(drawn) for drawn in draws]
    family = widen_for_family(values, draws, alone)
    adjusted = holm([test.p for test in tests]).tolist()
    return tuple(
        Difference(
            rival=name,
            value=value,
            low=own.low,
            high=own.high,
            family_low=wide.low,
            family_high=wide.high,
            p=test.p,
            p_holm=p_holm,
            exact=test.exact,
            scope=_joint(reference, rivals[name]),
        )
        for name, value, own, wide, test, p_holm in zip(
            rivals, values, alone, family, tests, adjusted, strict=True
        )
    )


def _joint(first: DrawnFigure, second: DrawnFigure) -> Scope:
    """Return what the interval of a difference covers: no more than either side's does."""
    scopes = {first.scope, second.scope}
    order = (Scope.ONE_SEED, Scope.BORROWED, Scope.PEOPLE_AND_SEEDS, Scope.NO_SEEDS)
    return next(scope for scope in order if scope in scopes)


_POOLED: tuple[RepresentationRole, ...] = ("method", "floor")
"""Roles from whose trainings the luck of a seed is known."""

Contest = Mapping[str, tuple[Method, DrawnFigure]]
"""Representations by one metric."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A representation in one benchmark with one probe."""

    name: str
    role: RepresentationRole
    runs: tuple[Sequence[Answers], ...]
    """For each seed the answers to each fold."""
    seeded: bool = True
    """False for what comes out the same every time."""

    def method(self, tallies: Sequence[Tally]) -> Method:
        """Return it by one metric, from the tallies of its seeds."""
        return Method(self.name, tuple(tallies), self.seeded, pooled=self.role in _POOLED)


@dataclass(frozen=True, slots=True)
class Family:
    """Rivals that a reference is compared with, looked at together."""

    name: ComparisonFamily
    reference: str
    rivals: tuple[str, ...]


def draw_contest(
    contestants: Mapping[str, Contestant],
    tallies: Mapping[str, Sequence[Tally]],
    settings: BenchmarkSettings,
) -> Contest:
    """Return representations by a metric, drawn; none where there is but one person.

    ``tallies`` has an entry for each representation that has the metric, one tally for each seed.
    """
    methods = {name: contestants[name].method(own) for name, own in tallies.items()}
    if not methods or next(iter(methods.values())).runs[0].n_subjects < 2:
        return {}
    floors = [m for m in methods.values() if contestants[m.name].role == "floor"]
    trained = [m for m in methods.values() if contestants[m.name].role != "floor"]
    drawn: dict[str, DrawnFigure] = {}
    for together in filter(None, (trained, floors)):
        drawn |= draw_figures(together, draws=settings.bootstrap, seed=settings.seed)
    return {name: (method, drawn[name]) for name, method in methods.items()}


def interval_fields(contest: Contest, name: str, metric: str) -> dict[str, object]:
    """Return ``low``, ``high`` and ``scope`` of a figure's record; nothing where none was drawn."""
    if name not in contest or not np.isfinite(contest[name][1].draws).any():
        return {}
    lowest = -1.0 if metric == "kappa" else 0.0
    figure = figure_of(name, contest[name][1], (lowest, 1.0))
    return {"low": figure.low, "high": figure.high, "scope": figure.scope.value}


def compare_family(
    contest: Contest,
    family: Family,
    metric: str,
    *,
    seed: int,
    flips: int = FLIPS,
    exact_up_to: int = EXACT_UP_TO,
) -> document.MetricComparison | None:
    """Return the reference less each rival of a family, None where either is not there."""
    rivals = [name for name in family.rivals if name in contest]
    if family.reference not in contest or not rivals:
        return None
    differences = differences_to(
        contest,
        reference=family.reference,
        rivals=rivals,
        flips=flips,
        exact_up_to=exact_up_to,
        seed=seed,
    )
    n_subjects = contest[family.reference][0].runs[0].n_subjects
    return document.MetricComparison(
        family=family.name,
        metric=metric,
        reference=family.reference,
        n_subjects=n_subjects,
        smallest_p=smallest_p(n_subjects, len(rivals)),
        differences=tuple(map(_difference_record, differences)),
    )


def _difference_record(difference: Difference) -> document.Difference:
    return document.Difference(
        rival=difference.rival,
        value=difference.value,
        low=difference.low,
        high=difference.high,
        family_low=difference.family_low,
        family_high=difference.family_high,
        p=difference.p,
        p_holm=difference.p_holm,
        exact=difference.exact,
        scope=difference.scope.value,
        counts=difference.counts,
    )


@dataclass(frozen=True, slots=True)
class AverageRanks:
    """Ranks of methods, 1 the best, over the benchmarks on which all of them were tested."""

    mean: dict[str, float]
    """By method, the best first."""
    by_benchmark: dict[str, dict[str, float]]
    """By benchmark, then by method."""
    left_out: tuple[str, ...]
    """Benchmarks on which some method has no figure."""
    critical_difference: float | None
    """Mean ranks closer than this are not told apart; None without two benchmarks and methods."""


def average_ranks(figures: Mapping[str, Mapping[str, float]]) -> AverageRanks:
    """Return the ranks of figures by benchmark, then by method; the highest figure ranks 1.

    Equal figures share the mean of their ranks. A benchmark without a figure of every method is
    left out, because a rank among fewer means something else.
    """
    names = sorted({name for by_method in figures.values() for name in by_method})
    complete = {
        b: f for b, f in figures.items() if all(np.isfinite(f.get(n, np.nan)) for n in names)
    }
    ranks = {
        benchmark: dict(zip(names, _ranks([by_method[n] for n in names]), strict=True))
        for benchmark, by_method in complete.items()
    }
    means = {name: float(np.mean([r[name] for r in ranks.values()])) for name in names if ranks}
    ordered = dict(sorted(means.items(), key=lambda item: item[1]))
    left_out = tuple(benchmark for benchmark in figures if benchmark not in complete)
    return AverageRanks(ordered, ranks, left_out, critical_difference(len(names), len(ranks)))


def critical_difference(n_methods: int, n_benchmarks: int) -> float | None:
    """Return by how much two mean ranks must differ at the 5 % level, None if nothing can be said.

    Nemenyi's test as in Demsar, 2006: q / sqrt(2) * sqrt(k (k + 1) / (6 N)) for k methods on N
    benchmarks, q the 95 % quantile of the studentised range of k at infinite freedom. It takes
    the benchmarks as a sample; with five of them it is wide.
    """
    if n_methods < 2 or n_benchmarks < 2:
        return None
    q = float(stats.studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_benchmarks)))


def _ranks(figures: list[float]) -> list[float]:
    return stats.rankdata(-np.array(figures), method="average").tolist()
