"""Every method against a reference: paired differences, their intervals, and what counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deaps.method_registry import DEAPS
from deaps.probing.statistics.bootstrap import (
    DrawnFigure,
    Interval,
    Method,
    Scope,
    draw_figures,
    interval,
    widen_for_family,
)
from deaps.probing.statistics.sign_flips import (
    EXACT_UP_TO,
    PermutationTest,
    holm,
    sign_flip_test,
    smallest_p,
)

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
