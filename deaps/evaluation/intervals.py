"""Intervals and tests: draws of people and seeds together, and the paired permutation test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from math import lcm
from typing import Any, Generic, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from deaps.evaluation.document import RepresentationRole
from deaps.evaluation.tallies import Floats, Tally

LEVEL = 0.95
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


class Scope(StrEnum):
    """What an interval covers."""

    PEOPLE_AND_SEEDS = "people and seeds"
    BORROWED = "people and seeds; with one seed, the between-seed variance is that of other methods"
    NO_SEEDS = "people; nothing depends on a seed"
    ONE_SEED = "people alone; the between-seed variance is unknown with one seed"


R = TypeVar("R")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Entry(Generic[R]):
    """A representation in one benchmark: its runs, as answers or as tallies of one metric."""

    name: str
    runs: tuple[R, ...]
    """One for each seed."""
    role: RepresentationRole = "method"
    seeded: bool = True
    """False for what comes out the same every time, such as the RR numbers."""

    @property
    def pooled(self) -> bool:
        """Whether it adds to the pooled variance over seeds, or only borrows it."""
        return self.role in ("method", "baseline")

    def with_runs(self, runs: Sequence[S]) -> Entry[S]:
        """Return the same representation by other runs."""
        return Entry(self.name, tuple(runs), self.role, self.seeded)


class Interval(NamedTuple):
    """An interval at 95 %."""

    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether 0 lies outside."""
        return self.low > 0 or self.high < 0


class SeedVariance(NamedTuple):
    """How much the runs of one method vary with their seed."""

    variance: float
    freedom: int
    """Degrees of freedom of the estimate; 0 where nothing is known."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A representation's figure by one metric: the mean over its seeds, with its draws."""

    entry: Entry[Tally]
    value: float
    by_run: tuple[float, ...]
    draws: Floats
    """(draws,); NaN where a draw of people leaves the metric undefined."""
    scope: Scope

    def interval(self, bounds: tuple[float, float] = (-np.inf, np.inf)) -> Interval | None:
        """Return the interval at 95 %, within the metric's bounds; None if no draw is defined."""
        if not np.isfinite(self.draws).any():
            return None
        low, high = np.clip(interval(self.draws), *bounds).tolist()
        return Interval(low, high)


def estimate(
    entries: Sequence[Entry[Tally]], *, draws: int = 1000, seed: int = 0
) -> dict[str, Estimate]:
    """Return each representation's figure by a metric, with draws of the same people for all.

    Baselines share no variance over seeds with trained representations. With one subject there is
    nothing to draw from, and so no estimate.

    Raises
    ------
    ValueError
        If a name comes twice, entries differ in their number of subjects, one without seeds has
        several runs, or the metric of a run is undefined.
    """
    n_subjects = _check(entries)
    if n_subjects < 2:
        return {}
    weights = subject_weights(n_subjects, draws, seed)
    resampled = {entry.name: _resample(entry, weights) for entry in entries}
    found: dict[str, Estimate] = {}
    for is_baseline in (False, True):
        group = [entry for entry in entries if (entry.role == "baseline") == is_baseline]
        shared = _shared_variance(group, [resampled[entry.name].between_seeds for entry in group])
        spread = _spread_draws(shared.freedom, draws, seed)
        for entry in group:
            deviation = spread * _seed_draws(entry.name, draws, seed)
            found[entry.name] = _estimate(entry, resampled[entry.name], shared, deviation)
    return {entry.name: found[entry.name] for entry in entries}


def with_label_draws(
    drawn: Estimate, by_draw: Floats, people: Sequence[Collection[str]], *, seed: int = 0
) -> Estimate:
    """Return a figure with the variance of who was labelled in its draws, too.

    ``by_draw`` is the figure of each draw of labelled people, (R,), and ``people`` who they are,
    the same number in each. Draws that are all alike show no variance.
    """
    ratio, freedom = label_variance(people)
    if freedom == 0:
        return drawn
    size = len(drawn.draws)
    normal = _stream(seed, "labelled people").standard_normal((size, len(by_draw)))
    spread = _spread_draws(freedom, size, seed, "spread of labelled people")
    deviation = normal @ (by_draw - by_draw.mean()) * np.sqrt(ratio / len(by_draw)) * spread
    return replace(drawn, draws=drawn.draws + deviation)


def label_variance(people: Sequence[Collection[str]]) -> tuple[float, int]:
    """Return the variance of the mean over draws of people in units of that between draws.

    With it come the degrees of freedom, 0 where the draws are all alike.
    """
    size = len(people[0])
    different = len({frozenset(draw) for draw in people})
    if different == 1:
        return 0.0, 0
    held = Counter(person for draw in people for person in draw)
    of_mean = sum(n * n for n in held.values()) / (len(people) * size) ** 2
    return of_mean / (1 / size - of_mean), min(different, len(held)) - 1


def subject_weights(n_subjects: int, draws: int, seed: int) -> Floats:
    """Return how often each subject is drawn, (draws, n): n of them with replacement."""
    even = np.full(n_subjects, 1 / n_subjects)
    return _stream(seed, "people").multinomial(n_subjects, even, size=draws).astype(np.float64)


@cache
def small_sample_factor(n_subjects: int) -> float:
    """Return c: how much wider than the percentiles an interval over n people is made."""
    t, z = stats.t.ppf(_TAILS[1], n_subjects - 1), stats.norm.ppf(_TAILS[1])
    return float(np.sqrt(n_subjects / (n_subjects - 1)) * t / z)


def own_variance(by_run: Floats, drawn: Floats) -> SeedVariance:
    """Return the variance of a method's runs beyond what the draws of people have in them.

    Parameters
    ----------
    by_run
        The runs' metrics of all people, (k,).
    drawn
        The same under each draw of people, (draws, k). How far runs move apart from their mean
        when people are drawn again is the part of their difference that is due to people. The
        rest can come out negative, as unbiased estimates of a small variance do.
    """
    k = len(by_run)
    if k < 2:
        return SeedVariance(0.0, 0)
    apart = drawn - drawn.mean(axis=1, keepdims=True)
    by_people = float(np.nanvar(apart, axis=0).mean()) * k / (k - 1)
    return SeedVariance(float(by_run.var(ddof=1)) - by_people, k - 1)


def pooled_variance(by_method: Sequence[SeedVariance]) -> SeedVariance:
    """Return the variance over seeds within methods, each counted by its degrees of freedom."""
    freedom = sum(own.freedom for own in by_method)
    total = sum(own.variance * own.freedom for own in by_method)
    return SeedVariance(max(0.0, total / freedom) if freedom else 0.0, freedom)


def interval(draws: Floats) -> Interval:
    """Return the 2.5 % and 97.5 % quantiles of draws, those that are undefined left out."""
    return Interval(*(float(q) for q in np.quantile(draws[np.isfinite(draws)], _TAILS)))


def widen_for_family(
    values: Sequence[float], draws: Sequence[Floats], intervals: Sequence[Interval]
) -> list[Interval]:
    """Return intervals of several differences, (m,), that together rarely miss 0 by chance.

    ``draws`` are the differences' draws, (draws,) each. Step by step, from the difference
    farthest from 0 in units of its interval: it is widened by the 95 % quantile of the largest
    deviation among those not yet decided, in the same units. The first that contains 0 ends
    it: the others are widened as it was. In 5 % of experiments without any difference, at
    least one interval excludes 0.
    """
    deviations = np.stack(
        [_in_units(d - v, v, i) for v, d, i in zip(values, draws, intervals, strict=True)]
    )
    deviations = deviations[:, np.isfinite(deviations).all(axis=0)]
    seen = np.array([_in_units(np.array(-v), v, i) for v, i in zip(values, intervals, strict=True)])
    order = np.argsort(-seen, kind="stable")
    factors = np.ones(len(values))
    for step in range(len(order)):
        largest = deviations[order[step:]].max(axis=0)
        factors[order[step:]] = max(1.0, float(np.quantile(largest, LEVEL)))
        if seen[order[step]] <= factors[order[step]]:
            break
    return [_widened(*item) for item in zip(values, intervals, factors, strict=True)]


class _Resampled(NamedTuple):
    """A representation's runs under each draw of people."""

    by_run: Floats
    """Of all people, (k,)."""
    figure: Floats
    """Mean over the runs under each draw, (draws,)."""
    between_seeds: SeedVariance
    n_subjects: int


def _resample(entry: Entry[Tally], weights: Floats) -> _Resampled:
    by_run = np.array([run.value() for run in entry.runs])
    if not np.isfinite(by_run).all():
        raise ValueError(f"the metric of {entry.name!r} is undefined in some run: {by_run}")
    drawn = np.stack([run.values(weights) for run in entry.runs], axis=1)
    return _Resampled(by_run, drawn.mean(axis=1), own_variance(by_run, drawn), weights.shape[1])


def _shared_variance(
    entries: Sequence[Entry[Tally]], between_seeds: Sequence[SeedVariance]
) -> SeedVariance:
    """Return the variance of those who are pooled; where these have one run each, of all."""
    seeded = [(e.pooled, own) for e, own in zip(entries, between_seeds, strict=True) if e.seeded]
    of_pooled = pooled_variance([own for pooled, own in seeded if pooled])
    return of_pooled if of_pooled.freedom else pooled_variance([own for _, own in seeded])


def _estimate(
    entry: Entry[Tally], runs: _Resampled, shared: SeedVariance, deviation: Floats
) -> Estimate:
    value = float(runs.by_run.mean())
    people = small_sample_factor(runs.n_subjects) * (runs.figure - value)
    variance = max(runs.between_seeds.variance, shared.variance) if entry.seeded else 0.0
    draws = value + people + np.sqrt(variance / len(runs.by_run)) * deviation
    return Estimate(entry, value, tuple(runs.by_run.tolist()), draws, _scope(entry, shared))


def _seed_draws(name: str, draws: int, seed: int) -> Floats:
    """Return z, (draws,), of one representation."""
    return _stream(seed, f"seeds of {name}").standard_normal(draws)


def _spread_draws(freedom: int, draws: int, seed: int, purpose: str = "spread") -> Floats:
    """Return sqrt(nu / chi2(nu)), (draws,): how far off the estimated deviation may be."""
    if freedom == 0:
        return np.ones(draws)
    return np.sqrt(freedom / _stream(seed, purpose).chisquare(freedom, draws))


def _scope(entry: Entry[Tally], shared: SeedVariance) -> Scope:
    if not entry.seeded:
        return Scope.NO_SEEDS
    if len(entry.runs) > 1:
        return Scope.PEOPLE_AND_SEEDS
    return Scope.BORROWED if shared.freedom else Scope.ONE_SEED


def _in_units(deviation: Floats, value: float, bounds: Interval) -> Floats:
    """Return deviations from a value in units of its interval on their side."""
    below, above = value - bounds.low, bounds.high - value
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.where(deviation > 0, deviation / above, -deviation / below)
    # Two equal methods have an interval of no width around no deviation.
    return np.where(deviation == 0, 0.0, units)


def _widened(value: float, bounds: Interval, factor: float) -> Interval:
    return Interval(value - factor * (value - bounds.low), value + factor * (bounds.high - value))


def _stream(seed: int, purpose: str) -> np.random.Generator:
    """Return random numbers for one purpose: adding a method leaves the draws of others alone."""
    return np.random.Generator(np.random.Philox(key=[seed, crc32(purpose.encode())]))


def bounds_of(found: Estimate | None, bounds: tuple[float, float]) -> dict[str, Any]:
    """Return ``low``, ``high`` and ``scope`` for a record; nothing where none could be drawn."""
    limits = None if found is None else found.interval(bounds)
    if found is None or limits is None:
        return {}
    return {"low": limits.low, "high": limits.high, "scope": found.scope.value}


def _check(entries: Sequence[Entry[Tally]]) -> int:
    """Return the number of subjects, having made sure that the entries can be drawn together."""
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise ValueError(f"a name comes twice in {names}")
    for entry in entries:
        if not entry.runs or (not entry.seeded and len(entry.runs) > 1):
            raise ValueError(f"{entry.name!r} has {len(entry.runs)} runs; without a seed it has "
                             "one, with seeds at least one")  # fmt: skip
    sizes = {run.n_subjects for entry in entries for run in entry.runs}
    if len(sizes) > 1:
        raise ValueError(f"runs have {sorted(sizes)} subjects; they need the same number")
    return sizes.pop() if sizes else 0


EXACT_UP_TO = 20
"""Subjects up to which every pattern of swaps is tried: half a million of them."""

_ROWS = 1 << 15
"""Patterns tried at once."""

_TIE = 1e-12
"""Differences closer than this are equal: sums in another order differ by rounding."""


class PermutationTest(NamedTuple):
    """Outcome of a permutation test."""

    p: float
    """Two-sided."""
    exact: bool
    """Whether every pattern was tried; otherwise patterns were drawn."""


def sign_flip_test(
    mine: Sequence[Tally],
    theirs: Sequence[Tally],
    *,
    flips: int = 9_999,
    exact_up_to: int = EXACT_UP_TO,
    seed: int = 0,
) -> PermutationTest:
    """Return the p value of two methods' difference, each given by its runs (one a seed).

    If the methods were alike, the answers to a subject could as well have come from the other
    one. So the answers to each subject are swapped or not, in all runs together, and the p
    value is the share of the 2**n patterns whose mean difference over the runs is at least as
    large as the one seen (Fisher, 1935; Nichols and Holmes, 2002). For a metric that is a mean
    over subjects, a swap flips the sign of the subject's difference. Up to ``exact_up_to``
    subjects all patterns are tried; beyond, ``flips`` are drawn and p = (1 + hits) / (1 + flips)
    (Phipson and Smyth, 2010). It speaks of people alone: the variance of seeds is not in it.

    Runs are taken in pairs, in their order; where one method has 5 and the other 3, the 15 pairs
    in which each run of a method comes equally often.
    """
    pairs = [
        (mine[k % len(mine)], theirs[k % len(theirs)]) for k in range(lcm(len(mine), len(theirs)))
    ]
    n = mine[0].n_subjects
    seen = abs(float(_differences(pairs, np.ones((1, n)))[0]))
    exact = n <= exact_up_to
    patterns = all_patterns(n) if exact else drawn_patterns(n, flips, seed)
    hits = sum(int((np.abs(_differences(pairs, s)) >= seen - _TIE).sum()) for s in patterns)
    return PermutationTest(hits / 2 ** (n - 1) if exact else (1 + hits) / (1 + flips), exact)


def smallest_p(n_subjects: int, n_comparisons: int = 1) -> float:
    """Return the smallest p value after Holm that so many subjects can give: m 2 / 2**n, at most 1.

    A pattern and its opposite are equally extreme, so no two-sided p is below 2 / 2**n. Seven
    subjects give 0.016, after Holm over five comparisons 0.078: nothing can be significant.
    """
    return min(1.0, n_comparisons * 2.0 ** (1 - n_subjects))


def holm(p_values: ArrayLike) -> Floats:
    """Return the p values adjusted for their number, (m,), by Holm's step-down rule.

    Holm, 1979: in ascending order, p~(i) = max over j <= i of min(1, (m - j + 1) p(j)). The
    chance of any false alarm is at most 5 % if those below 0.05 are believed.
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def all_patterns(n: int) -> Iterator[Floats]:
    """Yield every pattern of n signs, of opposite ones only that which begins with +1."""
    total = 1 << (n - 1)
    for first in range(0, total, _ROWS):
        numbers = np.arange(first, min(first + _ROWS, total))
        bits = (numbers[:, np.newaxis] >> np.arange(n)) & 1  # the last is always 0
        yield _signs(bits[:, ::-1])


def drawn_patterns(n: int, flips: int, seed: int) -> Iterator[Floats]:
    """Yield so many patterns of n signs, drawn evenly; the same for the same seed."""
    rng = np.random.Generator(np.random.Philox(key=[seed, n]))
    for first in range(0, flips, _ROWS):
        size = (min(_ROWS, flips - first), -(-n // 8))
        bits = np.unpackbits(rng.integers(0, 256, size, np.uint8), axis=1, count=n)
        yield _signs(bits)


def _signs(bits: NDArray[np.integer]) -> Floats:
    return 1.0 - 2.0 * bits.astype(np.float64)


def _differences(pairs: Sequence[tuple[Tally, Tally]], signs: Floats) -> NDArray[np.float64]:
    return np.asarray(np.mean([a.swapped(b, signs) for a, b in pairs], axis=0))
