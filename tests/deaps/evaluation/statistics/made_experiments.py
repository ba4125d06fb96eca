"""Made experiments: methods whose true differences, seeds and people are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation.comparisons import FLIPS, Family, compare
from deaps.evaluation.document import Difference, MetricComparison
from deaps.evaluation.intervals import Entry, Estimate, Interval, estimate
from deaps.evaluation.tallies import Auroc, Means, Tally

SEED_DEVIATION = 4.0
"""In points of AUROC: what two seeds of one method were seen to differ by was 5 to 8."""

PERSON_DEVIATION = 17.0
"""Of one person's difference between a run of each of two methods: what the narrowest interval
seen on 51 people, 4.6 to 14.1 points of AUROC, comes to."""

ONE_DEVIATION = float(np.hypot(PERSON_DEVIATION, np.sqrt(2) * SEED_DEVIATION))
"""Of one person's difference between two runs, the variance of both seeds included: 17.9 points."""

_OWN_PART = 0.3
"""Part of a person's variance that differs from seed to seed of one method."""


@dataclass(frozen=True)
class Design:
    """An experiment: the first method is the reference."""

    people: int = 51
    seeds: int = 3
    effects: tuple[float, ...] = (0.0,) * 6
    seed_deviations: tuple[float, ...] = (SEED_DEVIATION,) * 6

    def draw(self, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the contributions of each method, seed and person."""
        m, k, n = len(self.effects), self.seeds, self.people
        deviation = PERSON_DEVIATION / np.sqrt(2)
        person = deviation * np.sqrt(1 - _OWN_PART) * rng.standard_normal((m, 1, n))
        own = deviation * np.sqrt(_OWN_PART) * rng.standard_normal((m, k, n))
        luck = np.array(self.seed_deviations)[:, None, None] * rng.standard_normal((m, k, 1))
        shared = 15 * rng.standard_normal(n)  # some people are easier for all methods
        return np.array(self.effects)[:, None, None] + person + own + luck + shared


def methods_of(contributions: NDArray[np.float64]) -> list[Entry[Tally]]:
    """Return the methods behind contributions, (methods, seeds, people)."""
    names = ["deaps", *(f"comparator {k}" for k in range(1, len(contributions)))]
    pairs = zip(names, contributions, strict=True)
    return [Entry(name, tuple(Means(run) for run in runs)) for name, runs in pairs]


@dataclass(frozen=True)
class Compared:
    """Figures by one metric and the differences of one family, as reports have them."""

    estimates: dict[str, Estimate]
    comparison: MetricComparison

    @property
    def differences(self) -> tuple[Difference, ...]:
        return self.comparison.differences

    def difference(self, comparator: str) -> Difference:
        found = self.comparison.difference(comparator)
        assert found is not None
        return found

    def bounds(self, name: str, limits: tuple[float, float] = (-np.inf, np.inf)) -> Interval:
        found = self.estimates[name].interval(limits)
        assert found is not None
        return found

    def width(self, name: str) -> float:
        low, high = self.bounds(name)
        return high - low


def compared(
    entries: Sequence[Entry[Tally]],
    *,
    reference: str = "deaps",
    comparators: Sequence[str] | None = None,
    draws: int = 1000,
    flips: int = FLIPS,
    seed: int = 0,
) -> Compared:
    """Return what a report says of entries: by the functions that production calls."""
    names = tuple(comparators or (e.name for e in entries if e.name != reference))
    estimates = estimate(entries, draws=draws, seed=seed)
    found = compare(
        estimates, Family("methods", reference, names), "accuracy", flips=flips, seed=seed
    )
    assert found is not None
    return Compared(estimates, found)


@dataclass(frozen=True)
class Simulated:
    """What came of many experiments of one design."""

    design: Design
    comparisons: list[Compared]

    @property
    def called(self) -> NDArray[np.bool_]:
        """Whether each difference is significant, (experiments, comparators)."""
        return np.array([[d.significant for d in c.differences] for c in self.comparisons])

    @property
    def difference_coverage(self) -> float:
        """Share of the differences' intervals that hold the true difference."""
        true = [self.design.effects[0] - effect for effect in self.design.effects[1:]]
        held = [[d.low <= t <= d.high for d, t in zip(c.differences, true, strict=True)]
                for c in self.comparisons]  # fmt: skip
        return float(np.mean(held))

    @property
    def figure_coverage(self) -> float:
        """Share of the figures' intervals that hold the true figure."""
        held = [[c.bounds(name).low <= t <= c.bounds(name).high
                 for name, t in zip(c.estimates, self.design.effects, strict=True)]
                for c in self.comparisons]  # fmt: skip
        return float(np.mean(held))


def simulate(design: Design, experiments: int, *, draws: int = 1000) -> Simulated:
    """Return the comparisons of so many experiments, seeded one by one."""
    rng = np.random.default_rng(7)
    comparisons = [
        compared(methods_of(design.draw(rng)), draws=draws, flips=1999, seed=number)
        for number in range(experiments)
    ]
    return Simulated(design, comparisons)


def auroc_methods(
    rng: np.random.Generator, *, people: int = 51, windows: int = 20
) -> list[Entry[Tally]]:
    """Return six alike methods with three seeds, by the AUROC over the windows of all people.

    A third of the people have both classes, the others one. Every method errs on people of its
    own, and how far it tells the classes apart depends on its seed, by about 4 points.
    """
    subject = np.repeat(np.arange(people), windows)
    share = np.where(np.arange(people) % 3 == 0, 0.5, np.arange(people) % 3 - 1)
    labels = rng.random(people * windows) < share[subject]
    methods = []
    for name in ("deaps", *(f"comparator {k}" for k in range(1, 6))):
        person = 1.2 * rng.standard_normal(people)[subject]
        runs = []
        for apart in 1.3 + 0.25 * rng.standard_normal(3):
            own = 0.5 * rng.standard_normal(people)[subject]
            scores = person + own + apart * labels + rng.standard_normal(len(labels))
            runs.append(Auroc(labels, scores, subject, people))
        methods.append(Entry(name, tuple(runs)))
    return methods
