"""Made experiments: methods whose true differences, seeds and people are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation.comparisons import Comparison, compare
from deaps.evaluation.intervals import Method
from deaps.evaluation.metrics import Auroc, Means

SEED_DEVIATION = 4.0
"""In points of AUROC: what two seeds of one method were seen to differ by was 5 to 8."""

PERSON_DEVIATION = 17.0
"""Of one person's difference between a run of each of two methods: what the narrowest interval
seen on 51 people, 4.6 to 14.1 points of AUROC, comes to."""

ONE_DEVIATION = float(np.hypot(PERSON_DEVIATION, np.sqrt(2) * SEED_DEVIATION))
"""Of one person's difference between two runs, the luck of both seeds included: 17.9 points."""

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


def methods_of(contributions: NDArray[np.float64]) -> list[Method]:
    """Return the methods behind contributions, (methods, seeds, people)."""
    names = ["deaps", *(f"rival {k}" for k in range(1, len(contributions)))]
    pairs = zip(names, contributions, strict=True)
    return [Method(name, tuple(Means(run) for run in runs)) for name, runs in pairs]


@dataclass(frozen=True)
class Simulated:
    """What came of many experiments of one design."""

    design: Design
    comparisons: list[Comparison]

    @property
    def called(self) -> NDArray[np.bool_]:
        """Whether each difference counted, (experiments, rivals)."""
        return np.array([[d.counts for d in c.differences] for c in self.comparisons])

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
        held = [[f.low <= t <= f.high for f, t in zip(c.figures, self.design.effects, strict=True)]
                for c in self.comparisons]  # fmt: skip
        return float(np.mean(held))


def simulate(design: Design, experiments: int, *, draws: int = 1000) -> Simulated:
    """Return the comparisons of so many experiments, seeded one by one."""
    rng = np.random.default_rng(7)
    comparisons = [
        compare(methods_of(design.draw(rng)), draws=draws, flips=1999, seed=number)
        for number in range(experiments)
    ]
    return Simulated(design, comparisons)


def auroc_methods(rng: np.random.Generator, *, people: int = 51, windows: int = 20) -> list[Method]:
    """Return six alike methods with three seeds, by the AUROC over the windows of all people.

    A third of the people have both classes, the others one. Every method errs on people of its
    own, and how far it tells the classes apart depends on its seed, by about 4 points.
    """
    subject = np.repeat(np.arange(people), windows)
    share = np.where(np.arange(people) % 3 == 0, 0.5, np.arange(people) % 3 - 1)
    labels = rng.random(people * windows) < share[subject]
    methods = []
    for name in ("deaps", *(f"rival {k}" for k in range(1, 6))):
        person = 1.2 * rng.standard_normal(people)[subject]
        runs = []
        for apart in 1.3 + 0.25 * rng.standard_normal(3):
            own = 0.5 * rng.standard_normal(people)[subject]
            scores = person + own + apart * labels + rng.standard_normal(len(labels))
            runs.append(Auroc(labels, scores, subject, people))
        methods.append(Method(name, tuple(runs)))
    return methods
