"""Few-label curves of every representation and their differences, from the probes' answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deaps.evaluation import document
from deaps.evaluation.comparisons import Family, compare
from deaps.evaluation.intervals import Entry, bounds_of, estimate, with_label_draws
from deaps.evaluation.metrics import METRICS, metric_bounds, tally_folds
from deaps.evaluation.plan import Plan
from deaps.evaluation.probes import Answers
from deaps.evaluation.tallies import Averaged, Floats, Tally

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
    plan: Plan, entries: Sequence[Entry[Sequence[Answers]]], families: Sequence[Family] = ()
) -> FewLabelFigures:
    """Return curves and differences; the entries' runs hold the answers to each draw of people.

    A point's run is the mean over the draws of so many people. So its between-seed variance is
    that of such a mean, and the variance of who was drawn is added to it.
    """
    curves: dict[tuple[str, str], list[document.CurvePoint]] = {}
    comparisons: list[document.FewLabelComparison] = []
    seed, benchmark = plan.settings.seed, plan.benchmark.name
    for people in sorted({draw.n_people for draw in plan.label_draws}):
        labelled = [draw.people for draw in plan.label_draws if draw.n_people == people]
        for metric, tallies in _tallies_by_metric(plan, entries, people).items():
            by_draw = {name: _by_draw(own) for name, own in tallies.items()}
            means = [
                entry.with_runs([_mean(draws) for draws in tallies[entry.name]])
                for entry in entries
                if entry.name in tallies
            ]
            drawn = estimate(means, draws=plan.settings.bootstrap, seed=seed)
            estimates = {
                name: with_label_draws(own, by_draw[name], labelled, seed=seed)
                for name, own in drawn.items()
            }
            for name, values in by_draw.items():
                point = document.CurvePoint(
                    people=people,
                    value=float(values.mean()),
                    draws=len(values),
                    **bounds_of(estimates.get(name), metric_bounds(metric)),
                )
                curves.setdefault((metric, name), []).append(point)
            found = [
                compare(
                    estimates, family, metric, flips=_FLIPS, exact_up_to=_EXACT_UP_TO, seed=seed
                )
                for family in families
            ]
            comparisons += [
                document.FewLabelComparison(
                    benchmark=benchmark, people=people, comparison=comparison
                )
                for comparison in found
                if comparison is not None
            ]
    records = tuple(
        document.FewLabelCurve(
            representation=name, benchmark=benchmark, metric=metric, points=tuple(points)
        )
        for (metric, name), points in curves.items()
    )
    return FewLabelFigures(records, tuple(comparisons))


def _tallies_by_metric(
    plan: Plan, entries: Sequence[Entry[Sequence[Answers]]], people: int
) -> dict[str, dict[str, SeedsOfDraws]]:
    """Return the tallies of each metric by representation; undefined ones are left out."""
    places = [place for place, draw in enumerate(plan.label_draws) if draw.n_people == people]
    found: dict[str, dict[str, SeedsOfDraws]] = {}
    for entry in entries:
        runs = [[_tally(plan, place, run) for place in places] for run in entry.runs]
        for metric in (name for name in METRICS if name in runs[0][0]):
            tallies = [[draw[metric] for draw in run] for run in runs]
            if np.isfinite(_by_draw(tallies)).all():
                found.setdefault(metric, {})[entry.name] = tallies
    return found


def _tally(plan: Plan, place: int, run: Sequence[Answers]) -> dict[str, Tally]:
    fold, benchmark = plan.label_draws[place].fold, plan.benchmark
    return tally_folds(
        plan.examples, [fold], [run[place]], benchmark.classes, extra=benchmark.metrics
    )


def _by_draw(runs: SeedsOfDraws) -> Floats:
    """Return the figure of each draw, (R,): the mean over seeds."""
    return np.mean([[draw.value() for draw in run] for run in runs], axis=0)


def _mean(draws: Sequence[Tally]) -> Tally:
    return draws[0] if len(draws) == 1 else Averaged(draws)
