"""Few-label curves of every representation and their differences, from the probes' answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from deaps.evaluation import document
from deaps.evaluation.comparisons import (
    Contest,
    Contestant,
    Family,
    compare_family,
    draw_contest,
    interval_fields,
)
from deaps.evaluation.intervals import with_label_draws
from deaps.evaluation.metrics import Averaged, Floats, Tally
from deaps.evaluation.outcomes import COMPARED, is_reported, tally_folds
from deaps.evaluation.plan import Plan
from deaps.evaluation.probes import Answers

_FLIPS = 1_999
_EXACT_UP_TO = 12
"""Patterns and people as few as this, because every point has as many tests as a benchmark has in
all, each over all draws: with 20 people they would take minutes."""

SeedsOfDraws = Sequence[Sequence[Tally]]
"""For each seed the tallies of each draw of annotated people."""


class FewLabelFigures(NamedTuple):
    """All that few labels give in one benchmark."""

    curves: tuple[document.FewLabelCurve, ...]
    comparisons: tuple[document.FewLabelComparison, ...]


def few_label_figures(
    plan: Plan, contestants: Sequence[Contestant], families: Sequence[Family] = ()
) -> FewLabelFigures:
    """Return curves and differences; the contestants' runs hold the answers to each draw."""
    curves: dict[tuple[str, str], list[document.CurvePoint]] = {}
    comparisons: list[document.FewLabelComparison] = []
    for people in sorted({draw.n_people for draw in plan.label_draws}):
        for point in _points(plan, contestants, people):
            for name, found in point.records().items():
                curves.setdefault((point.metric, name), []).append(found)
            comparisons += point.comparisons(families)
    return FewLabelFigures(_curve_records(plan, curves), tuple(comparisons))


def _curve_records(
    plan: Plan, curves: Mapping[tuple[str, str], Sequence[document.CurvePoint]]
) -> tuple[document.FewLabelCurve, ...]:
    return tuple(
        document.FewLabelCurve(
            representation=name,
            benchmark=plan.benchmark.name,
            metric=metric,
            points=tuple(points),
        )
        for (metric, name), points in curves.items()
    )


class _Point:
    """All representations by one metric at one number of annotated people.

    A run is the mean over the draws of these people. So a seed's luck is that of such a mean, and
    the luck of who was drawn is added to it.
    """

    def __init__(
        self,
        plan: Plan,
        contestants: Mapping[str, Contestant],
        tallies: Mapping[str, SeedsOfDraws],
        *,
        people: int,
        metric: str,
    ) -> None:
        self.plan, self.people, self.metric = plan, people, metric
        self.by_draw = {name: _by_draw(own) for name, own in tallies.items()}
        runs = {name: [_mean(draws) for draws in own] for name, own in tallies.items()}
        seed = plan.settings.seed
        labelled = [draw.people for draw in plan.label_draws if draw.n_people == people]
        self.contest: Contest = {
            name: (method, with_label_draws(drawn, self.by_draw[name], labelled, seed=seed))
            for name, (method, drawn) in draw_contest(contestants, runs, plan.settings).items()
        }

    def records(self) -> dict[str, document.CurvePoint]:
        """Return every representation's point."""
        return {name: self._record(name, by_draw) for name, by_draw in self.by_draw.items()}

    def comparisons(self, families: Iterable[Family]) -> list[document.FewLabelComparison]:
        """Return the families' differences, as far as they are compared here."""
        seed = self.plan.settings.seed
        found = (
            compare_family(
                self.contest,
                family,
                self.metric,
                seed=seed,
                flips=_FLIPS,
                exact_up_to=_EXACT_UP_TO,
            )
            for family in families
        )
        return [
            document.FewLabelComparison(
                benchmark=self.plan.benchmark.name, people=self.people, comparison=comparison
            )
            for comparison in found
            if comparison is not None
        ]

    def _record(self, name: str, by_draw: Floats) -> document.CurvePoint:
        point = document.CurvePoint(
            people=self.people, value=float(by_draw.mean()), draws=len(by_draw)
        )
        return point.model_copy(update=interval_fields(self.contest, name, self.metric))


def _points(plan: Plan, contestants: Sequence[Contestant], people: int) -> list[_Point]:
    """Return the points at one number of people, one for each metric."""
    by_name = {contestant.name: contestant for contestant in contestants}
    tallies = {name: _tallies(plan, own, people) for name, own in by_name.items()}
    metrics = dict.fromkeys(metric for own in tallies.values() for metric in own)
    return [
        _Point(
            plan,
            by_name,
            {name: own[metric] for name, own in tallies.items() if metric in own},
            people=people,
            metric=metric,
        )
        for metric in metrics
    ]


def _tallies(plan: Plan, contestant: Contestant, people: int) -> dict[str, SeedsOfDraws]:
    """Return the tallies of each seed and draw by metric; a metric undefined in one is left out."""
    places = [place for place, draw in enumerate(plan.label_draws) if draw.n_people == people]
    runs = [[_tally(plan, place, run) for place in places] for run in contestant.runs]
    by_metric = {
        metric: [[draw[metric] for draw in run] for run in runs]
        for metric in COMPARED
        if metric in runs[0][0] and is_reported(metric, plan)
    }
    return {m: own for m, own in by_metric.items() if np.isfinite(_by_draw(own)).all()}


def _tally(plan: Plan, place: int, run: Sequence[Answers]) -> dict[str, Tally]:
    fold = plan.label_draws[place].fold
    return tally_folds(plan.examples, [fold], [run[place]], plan.benchmark.classes)


def _by_draw(runs: SeedsOfDraws) -> Floats:
    """Return the figure of each draw, (R,): the mean over seeds."""
    return np.mean([[draw.value() for draw in run] for run in runs], axis=0)


def _mean(draws: Sequence[Tally]) -> Tally:
    return draws[0] if len(draws) == 1 else Averaged(draws)
