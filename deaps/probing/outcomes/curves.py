"""Few-label curves of every representation, from the probes' answers."""

from __future__ import annotations

from collections.abc import Sequence

from deaps import evaluation
from deaps.probing.few_labels import curve
from deaps.probing.outcomes.contest import Contestant
from deaps.probing.outcomes.figures import COMPARED, is_reported
from deaps.probing.plan import Plan
from deaps.probing.statistics.fold_tallies import tally_folds
from deaps.probing.statistics.tally import Averaged, Tally


def few_label_curves(
    plan: Plan, contestants: Sequence[Contestant]
) -> tuple[evaluation.FewLabelCurve, ...]:
    """Return every representation's curves; its runs hold the answers to each draw of people."""
    return tuple(curve for contestant in contestants for curve in _curves(plan, contestant))


def _curves(plan: Plan, contestant: Contestant) -> list[evaluation.FewLabelCurve]:
    by_metric: dict[str, dict[int, list[Tally]]] = {}
    for place, draw in enumerate(plan.label_draws):
        by_seed = [
            tally_folds(plan.examples, [draw.fold], [run[place]], plan.benchmark.classes)
            for run in contestant.runs
        ]
        for metric in COMPARED:
            if metric in by_seed[0] and is_reported(metric, plan):
                tallies = [tallies[metric] for tallies in by_seed]
                joined = tallies[0] if len(tallies) == 1 else Averaged(tallies)
                by_metric.setdefault(metric, {}).setdefault(draw.n_people, []).append(joined)
    return [_record(plan, contestant.name, metric, runs) for metric, runs in by_metric.items()]


def _record(
    plan: Plan, representation: str, metric: str, runs: dict[int, list[Tally]]
) -> evaluation.FewLabelCurve:
    points = curve(runs, draws=plan.settings.bootstrap, seed=plan.settings.seed)
    return evaluation.FewLabelCurve(
        representation=representation,
        benchmark=plan.benchmark.name,
        metric=metric,
        points=tuple(
            evaluation.CurvePoint(
                people=p.n_people, value=p.value, low=p.low, high=p.high, draws=len(p.by_draw)
            )
            for p in points
        ),
    )
