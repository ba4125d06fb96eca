"""Draws of people and of seeds together, and the intervals they give.

The design is that of several readers and many cases (Obuchowski and Rockette, 1995). People are
crossed with everything: every run is tested on the same ones. Seeds are nested in the method:
seed 0 of one method and seed 0 of another share no luck that could be relied on. (Where they
share some, by equal initial weights, taking them as independent makes the interval of a
difference wider, not narrower.) So in each draw

- people are resampled once, with the same weights for all methods and all their runs, which
  makes differences paired over people;
- each method gets its own draw for the luck of its seeds.

The figure of a method is the mean of its k runs, F, and a draw of it is

    F* = F + c (F(w) - F) + V / sqrt(k) * z * sqrt(nu / chi2(nu))

**People.** F(w) is the figure with people weighted by a multinomial draw w. Resampling n people
makes deviations too small by sqrt((n - 1) / n), and percentiles ignore that the spread is itself
estimated; c = sqrt(n / (n - 1)) t(n - 1) / z, both at 97.5 %, mends that (after Hesterberg, 2015):
1.35 for 7 people, 1.03 for 51.

**Seeds.** Three runs cannot be resampled: there are ten different draws, and their variance is
too small by (k - 1) / k. Instead the error of a mean of k normal runs with unknown variance is
drawn, which is Student's t: z is normal, anew for each method, and the chi-square is one for
all. With the two degrees of freedom that a method has of its own, intervals would be so wide
that little is ever found; so the variance over seeds is pooled over the methods, nu being the
sum of their k - 1. A method whose own runs differ more counts with its own variance:
V**2 = max(own, pooled). Runs also differ because each errs on other people; that part is in the
draws of people already and is taken out of V**2. A method with one run borrows the pooled
variance. So does what is no method of its own, such as a method with other features beside it,
whose runs would count twice (`Method.pooled`). What has no seed (RR numbers, classical features)
has V = 0. If no method has two runs, nothing is known of the seeds, and the interval is one over
people alone: its `Scope` says so.

**Labelled people.** A point of a few-label curve is the mean over R draws of the m people whose
labels are fitted on. All draws come from the same training people, so they share some. Say that
person i adds a(i) / m to the figure of every draw that holds them. Then the mean has c(i) a(i) of
person i, c(i) being the share of the draws that hold them, divided by m, and its variance is

    q = sum of c**2 / (1 / m - sum of c**2)

times the variance between the draws (with divisor R). Draws that share nobody have q = 1 / (R - 1),
the usual standard error; draws of 4 of the same 7 people have about 1.4, because their mean moves
with these seven. The people are the same for every method, so they are crossed, as tested people
are: `with_label_draws` adds

    sum over r of g(r) (F(r) - F) / sqrt(R) * sqrt(q) * sqrt(nu / chi2(nu))

with F(r) the figure of draw r, and normal g(r) and a chi-square that are one for all methods; nu is
one less than the number of different draws, or of people in them if that is smaller. For each
method and each difference this is Student's t. It makes intervals a little too wide, because what
one draw does to one tested person, or to one seed, is in the other two parts already. Where all
people are labelled there is one draw, and nothing shows their luck: the interval is for these
people. (Taken as draws that share nobody, draws of 1, 2 and 4 of 7 people had intervals that held
the truth in 78, 66 and 41 % of made experiments; with q they do in 97, 96 and 93 %.)

**Several rivals.** Five intervals at 95 % give a false alarm in one experiment of eight.
`widen_for_family` widens them step by step, just enough (Romano and Wolf, 2005): each draw's
largest deviation, in units of the intervals, exceeds the widened ones in 5 % of the draws. The
luck of the reference is in all of its differences, so this takes less than Bonferroni's rule.

What was tried, in made experiments of 51 people, 3 seeds and 5 rivals; the deviation over seeds is
4 points of AUROC and that of one person's difference between two runs 17, both as seen in real
runs. Each row counts what its interval and the sign-flip test after Holm agree on. False alarms:
experiments without any effect in which something was called different (2,000). Twice: the same
if the reference varies twice as much with its seed as its rivals. All and one: share of rivals
found if the reference is one deviation (18 points) better than all of them, or than one (1,000).

| interval | false alarms | twice | all | one |
| --- | --- | --- | --- | --- |
| none: the test alone | 45 % | 64 % | 100 % | 100 % |
| percentiles, people and seeds resampled | 31 % | 35 % | 100 % | 100 % |
| the same, seeds inflated by sqrt(k / (k - 1)) | 24 % | 26 % | 99 % | 99 % |
| the same, widened for the family | 11 % | 15 % | 99 % | 96 % |
| Student's t with each method's own variance | 5.1 % | 5.4 % | 72 % | 74 % |
| the same, widened for the family | 0.7 % | 0.9 % | 38 % | 28 % |
| Welch's t, Holm over the rivals | 5.7 % | 5.8 % | 86 % | 73 % |
| Student's t, pooled variance, widened | 5.6 % | 12 % | 98 % | 95 % |
| Student's t, mean of own and pooled, widened | 6.3 % | 11 % | 99 % | 95 % |
| Student's t, larger of own and pooled | 13 % | 17 % | 98 % | 98 % |
| **the same, widened for the family** | **3.9 %** | **6.6 %** | **96 %** | **90 %** |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy import stats

from deaps.probing.statistics.tally import Floats, Tally

LEVEL = 0.95
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


class Scope(StrEnum):
    """What an interval covers."""

    PEOPLE_AND_SEEDS = "people and seeds"
    BORROWED = "people and seeds; with one seed, its luck is taken from the other methods"
    NO_SEEDS = "people; nothing depends on a seed"
    ONE_SEED = "people alone; one seed does not show its luck"


@dataclass(frozen=True, slots=True)
class Method:
    """What is compared: a representation's runs on one benchmark by one metric."""

    name: str
    runs: tuple[Tally, ...]
    """One for each seed."""
    seeded: bool = True
    """False for what comes out the same every time, such as the RR numbers."""
    pooled: bool = True
    """False for what borrows the pooled variance over seeds without adding to it."""


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
class DrawnFigure:
    """A method's figure with its draws."""

    value: float
    by_run: tuple[float, ...]
    draws: Floats
    """(draws,); NaN where a draw of people leaves the metric undefined."""
    scope: Scope


def draw_figures(methods: Sequence[Method], *, draws: int, seed: int = 0) -> dict[str, DrawnFigure]:
    """Return each method's figure with its draws, which belong together method by method.

    Raises
    ------
    ValueError
        If a name comes twice, methods differ in their number of subjects, there are fewer than
        two, a method without seeds has several runs, or the metric of a run is undefined.
    """
    weights = subject_weights(_check(methods), draws, seed)
    resampled = [_resample(method, weights) for method in methods]
    shared = _shared_variance(methods, [r.luck for r in resampled])
    spread = _spread_draws(shared.freedom, draws, seed)
    return {
        m.name: _draw_figure(m, r, shared, spread * _luck_draws(m.name, draws, seed))
        for m, r in zip(methods, resampled, strict=True)
    }


def with_label_draws(
    drawn: DrawnFigure, by_draw: Floats, people: Sequence[Collection[str]], *, seed: int = 0
) -> DrawnFigure:
    """Return a figure with the luck of who was labelled in its draws, too.

    ``by_draw`` is the figure of each draw of labelled people, (R,), and ``people`` who they are,
    the same number in each. Draws that are all alike show no luck.
    """
    ratio, freedom = label_luck(people)
    if freedom == 0:
        return drawn
    size = len(drawn.draws)
    normal = _stream(seed, "labelled people").standard_normal((size, len(by_draw)))
    spread = _spread_draws(freedom, size, seed, "spread of labelled people")
    luck = normal @ (by_draw - by_draw.mean()) * np.sqrt(ratio / len(by_draw)) * spread
    return replace(drawn, draws=drawn.draws + luck)


def label_luck(people: Sequence[Collection[str]]) -> tuple[float, int]:
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
        when people are drawn anew is the part of their difference that is due to people. The
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
    """A method's runs under each draw of people."""

    by_run: Floats
    """Of all people, (k,)."""
    figure: Floats
    """Mean over the runs under each draw, (draws,)."""
    luck: SeedVariance
    n_subjects: int


def _resample(method: Method, weights: Floats) -> _Resampled:
    by_run = np.array([run.value() for run in method.runs])
    if not np.isfinite(by_run).all():
        raise ValueError(f"the metric of {method.name!r} is undefined in some run: {by_run}")
    drawn = np.stack([run.values(weights) for run in method.runs], axis=1)
    return _Resampled(by_run, drawn.mean(axis=1), own_variance(by_run, drawn), weights.shape[1])


def _shared_variance(methods: Sequence[Method], lucks: Sequence[SeedVariance]) -> SeedVariance:
    """Return the variance of those who are pooled; where these have one run each, of all."""
    seeded = [(m.pooled, luck) for m, luck in zip(methods, lucks, strict=True) if m.seeded]
    of_pooled = pooled_variance([luck for pooled, luck in seeded if pooled])
    return of_pooled if of_pooled.freedom else pooled_variance([luck for _, luck in seeded])


def _draw_figure(
    method: Method, runs: _Resampled, shared: SeedVariance, luck: Floats
) -> DrawnFigure:
    value = float(runs.by_run.mean())
    people = small_sample_factor(runs.n_subjects) * (runs.figure - value)
    variance = max(runs.luck.variance, shared.variance) if method.seeded else 0.0
    draws = value + people + np.sqrt(variance / len(runs.by_run)) * luck
    return DrawnFigure(value, tuple(runs.by_run.tolist()), draws, _scope(method, shared))


def _luck_draws(name: str, draws: int, seed: int) -> Floats:
    """Return z, (draws,), of one method."""
    return _stream(seed, f"seeds of {name}").standard_normal(draws)


def _spread_draws(freedom: int, draws: int, seed: int, purpose: str = "spread") -> Floats:
    """Return sqrt(nu / chi2(nu)), (draws,): how far off the estimated deviation may be."""
    if freedom == 0:
        return np.ones(draws)
    return np.sqrt(freedom / _stream(seed, purpose).chisquare(freedom, draws))


def _scope(method: Method, shared: SeedVariance) -> Scope:
    if not method.seeded:
        return Scope.NO_SEEDS
    if len(method.runs) > 1:
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


def _check(methods: Sequence[Method]) -> int:
    """Return the number of subjects, having made sure that the methods can be drawn together."""
    names = [m.name for m in methods]
    if len(set(names)) < len(names):
        raise ValueError(f"a method's name comes twice in {names}")
    for method in methods:
        if not method.runs or (not method.seeded and len(method.runs) > 1):
            raise ValueError(f"method {method.name!r} has {len(method.runs)} runs; without a seed "
                             "it has one, with seeds at least one")  # fmt: skip
    sizes = {run.n_subjects for m in methods for run in m.runs}
    if len(sizes) != 1 or min(sizes) < 2:
        raise ValueError(f"runs have {sorted(sizes)} subjects; they need the same, two or more")
    return sizes.pop()
