"""Average ranks: how methods stand over several benchmarks whose figures have no common unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats


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
