"""Representations against each other by one metric: drawn together, compared by families.

Trained representations are drawn together, because they share what is known of the luck of a
seed; floors are drawn apart, because a random encoder's luck is another. The draws of people are
the same for all.

What is known of a seed's luck comes of the methods' trainings alone. A method with the RR numbers
beside it has the same trainings, which would count twice, and rungs of a ladder are variants of
one method. Both borrow from the pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deaps import evaluation
from deaps.config import BenchmarkSettings
from deaps.evaluation import ComparisonFamily, RepresentationRole
from deaps.probing.probes import Answers
from deaps.probing.statistics.bootstrap import DrawnFigure, Method, draw_figures
from deaps.probing.statistics.comparison import FLIPS, Difference, differences_to, figure_of
from deaps.probing.statistics.sign_flips import EXACT_UP_TO, smallest_p
from deaps.probing.statistics.tally import Tally

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
) -> evaluation.MetricComparison | None:
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
    return evaluation.MetricComparison(
        family=family.name,
        metric=metric,
        reference=family.reference,
        n_subjects=n_subjects,
        smallest_p=smallest_p(n_subjects, len(rivals)),
        differences=tuple(map(_difference_record, differences)),
    )


def _difference_record(difference: Difference) -> evaluation.Difference:
    return evaluation.Difference(
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
