"""Every method against a reference: paired differences, intervals, significance, mean ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from deaps.evaluation.document import ALPHA, ComparisonFamily, Difference, MetricComparison, Ranks
from deaps.evaluation.intervals import (
    EXACT_UP_TO,
    Estimate,
    Scope,
    holm,
    interval,
    sign_flip_test,
    smallest_p,
    widen_for_family,
)

FLIPS = 9_999
"""Patterns of signs drawn where there are too many to try all."""


@dataclass(frozen=True, slots=True)
class Family:
    """Comparators of a reference that are tested together."""

    name: ComparisonFamily
    reference: str
    comparators: tuple[str, ...]


def compare(
    estimates: Mapping[str, Estimate],
    family: Family,
    metric: str,
    *,
    flips: int = FLIPS,
    exact_up_to: int = EXACT_UP_TO,
    seed: int = 0,
) -> MetricComparison | None:
    """Return the reference less each comparator of a family, None where either is not there.

    The estimates must have been drawn together, so that each draw has the same people for all.
    Holm's rule and the family's intervals allow for the number of comparators. A difference is
    significant if the test after Holm and the family's interval over people and seeds agree on
    it: the test alone ignores the variance of seeds, and the interval alone leans on normal
    errors. Where the scope is people alone, it is a statement about these runs, not these methods.
    """
    names = [name for name in family.comparators if name in estimates]
    if family.reference not in estimates or not names:
        return None
    ours, theirs = estimates[family.reference], [estimates[name] for name in names]
    values = [ours.value - other.value for other in theirs]
    draws = [ours.draws - other.draws for other in theirs]
    alone = [interval(drawn) for drawn in draws]
    tests = [
        sign_flip_test(
            ours.entry.runs, other.entry.runs, flips=flips, exact_up_to=exact_up_to, seed=seed
        )
        for other in theirs
    ]
    adjusted = holm([test.p for test in tests]).tolist()
    differences = tuple(
        Difference(
            comparator=name,
            value=value,
            low=own.low,
            high=own.high,
            family_low=wide.low,
            family_high=wide.high,
            p=test.p,
            p_holm=p_holm,
            exact=test.exact,
            scope=_joint_scope(ours, other).value,
            significant=p_holm < ALPHA and wide.excludes_zero,
        )
        for name, other, value, own, wide, test, p_holm in zip(
            names,
            theirs,
            values,
            alone,
            widen_for_family(values, draws, alone),
            tests,
            adjusted,
            strict=True,
        )
    )
    n_subjects = ours.entry.runs[0].n_subjects
    return MetricComparison(
        family=family.name,
        metric=metric,
        reference=family.reference,
        n_subjects=n_subjects,
        smallest_p=smallest_p(n_subjects, len(names)),
        differences=differences,
    )


def _joint_scope(first: Estimate, second: Estimate) -> Scope:
    """Return what the interval of a difference covers: no more than either side's does."""
    scopes = {first.scope, second.scope}
    order = (Scope.ONE_SEED, Scope.BORROWED, Scope.PEOPLE_AND_SEEDS, Scope.NO_SEEDS)
    return next(scope for scope in order if scope in scopes)


def average_ranks(figures: Mapping[str, Mapping[str, float]], metric: str) -> Ranks:
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
    return Ranks(
        metric=metric,
        mean=dict(sorted(means.items(), key=lambda item: item[1])),
        by_benchmark=ranks,
        critical_difference=critical_difference(len(names), len(ranks)),
        left_out=tuple(benchmark for benchmark in figures if benchmark not in complete),
    )


def critical_difference(n_methods: int, n_benchmarks: int) -> float | None:
    """Return by how much two mean ranks must differ at the 5 % level, None if it is not defined.

    Nemenyi's test as in Demsar, 2006: q / sqrt(2) * sqrt(k (k + 1) / (6 N)) for k methods on N
    benchmarks, q the 95 % quantile of the studentised range of k at infinite freedom. It takes
    the benchmarks as a sample; with five of them it is wide.
    """
    if n_methods < 2 or n_benchmarks < 2:
        return None
    q = float(stats.studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_benchmarks)))


def _ranks(figures: Sequence[float]) -> list[float]:
    return stats.rankdata(-np.array(figures), method="average").tolist()
