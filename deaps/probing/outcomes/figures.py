"""Figures of one benchmark: every representation's runs, tallied, drawn and compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from deaps import evaluation
from deaps.probing.metrics import confusion_matrix
from deaps.probing.outcomes.contest import (
    Contest,
    Contestant,
    Family,
    compare_family,
    draw_contest,
    interval_fields,
)
from deaps.probing.plan import Plan
from deaps.probing.statistics.fold_tallies import tally_folds
from deaps.probing.statistics.tally import Tally

COMPARED = ("accuracy", "balanced accuracy", "auroc", "f1", "kappa")
"""Metrics by which representations are compared; the others describe a result."""


class BenchmarkFigures:
    """All figures of one benchmark with one probe."""

    def __init__(self, plan: Plan, contestants: Sequence[Contestant]) -> None:
        self.plan = plan
        self.contestants = {contestant.name: contestant for contestant in contestants}
        self._tallies = {c.name: _tallies(plan, c) for c in contestants}
        names = dict.fromkeys(metric for own in self._tallies.values() for metric in own)
        self._contests = {metric: self._contest(metric) for metric in names}

    def scores(
        self, name: str, metrics: Sequence[str] | None = None
    ) -> tuple[evaluation.Score, ...]:
        """Return a representation's figures, all that are defined or those of some metrics."""
        wanted = [m for m in self._contests if metrics is None or m in metrics]
        scores = [self._score(name, metric) for metric in wanted if name in self._values(metric)]
        return tuple(_with_usual_names(scores, self.plan))

    def outcome(self, name: str) -> evaluation.Outcome:
        """Return a representation's record."""
        contestant = self.contestants[name]
        scores = self.scores(name)
        folds = self._folds(contestant)
        if len(folds) > 1:
            deviation = float(np.std([fold.accuracy for fold in folds]))
            scores = (scores[0].model_copy(update={"deviation": deviation}), *scores[1:])
        return evaluation.Outcome(
            representation=name,
            scores=scores,
            confusion=tuple(map(tuple, self._confusion(contestant).tolist())),
            folds=folds,
        )

    def comparisons(self, families: Sequence[Family]) -> tuple[evaluation.MetricComparison, ...]:
        """Return every family by every compared metric that its reference has."""
        made = [
            compare_family(self._contests[metric], family, metric, seed=self.plan.settings.seed)
            for metric in COMPARED
            if metric in self._contests
            for family in families
        ]
        return tuple(comparison for comparison in made if comparison is not None)

    def value(self, name: str, metric: str) -> float | None:
        """Return a figure, the mean over seeds, None where it is undefined."""
        return self._values(metric).get(name)

    def _contest(self, metric: str) -> Contest:
        tallies = {name: own[metric] for name, own in self._tallies.items() if metric in own}
        return draw_contest(self.contestants, tallies, self.plan.settings)

    def _values(self, metric: str) -> dict[str, float]:
        """Return the figures by a metric, also where no interval can be drawn."""
        return {
            name: float(np.mean([run.value() for run in own[metric]]))
            for name, own in self._tallies.items()
            if metric in own
        }

    def _score(self, name: str, metric: str) -> evaluation.Score:
        runs = self._tallies[name][metric]
        by_seed = tuple(run.value() for run in runs)
        bare = evaluation.Score(
            metric=metric,
            value=float(np.mean(by_seed)),
            n=self._behind(name, metric),
            by_seed=by_seed,
        )
        return bare.model_copy(update=interval_fields(self._contests[metric], name, metric))

    def _confusion(self, contestant: Contestant) -> NDArray[np.int64]:
        examples, n_classes = self.plan.examples, len(self.plan.benchmark.classes)
        return np.sum(
            [
                confusion_matrix(examples.labels[fold.test], answers.labels, n_classes)
                for run in contestant.runs
                for fold, answers in zip(self.plan.folds, run, strict=True)
            ],
            axis=0,
        )

    def _folds(self, contestant: Contestant) -> tuple[evaluation.FoldScore, ...]:
        labels = self.plan.examples.labels
        return tuple(
            evaluation.FoldScore(
                name=fold.name,
                n=len(fold.test),
                accuracy=float(
                    np.mean([run[place].labels == labels[fold.test] for run in contestant.runs])
                ),
            )
            for place, fold in enumerate(self.plan.folds)
        )

    def _behind(self, name: str, metric: str) -> int:
        """Return the number of examples behind a figure of one seed."""
        confusion = self._confusion(self.contestants[name])
        kind, _, of_class = metric.partition(" ")
        if kind not in ("recall", "precision"):
            counted = confusion.sum()
        else:
            place = self.plan.benchmark.classes.index(of_class)
            counted = confusion.sum(axis=1 if kind == "recall" else 0)[place]
        return round(int(counted) / len(self.contestants[name].runs))


def _tallies(plan: Plan, contestant: Contestant) -> dict[str, tuple[Tally, ...]]:
    """Return the tallies of each seed, by metric; a metric undefined for some seed is left out."""
    by_seed = [
        tally_folds(plan.examples, plan.folds, answers, plan.benchmark.classes)
        for answers in contestant.runs
    ]
    return {
        metric: tuple(tallies[metric] for tallies in by_seed)
        for metric in by_seed[0]
        if is_reported(metric, plan)
        and all(np.isfinite(tallies[metric].value()) for tallies in by_seed)
    }


def is_reported(metric: str, plan: Plan) -> bool:
    """Return whether a benchmark reports a metric: some are of use to some questions alone."""
    asked = {"f1": plan.benchmark.mean_f1, "kappa": plan.benchmark.kappa}
    return asked.get(metric, True)


def _with_usual_names(scores: Sequence[evaluation.Score], plan: Plan) -> list[evaluation.Score]:
    """Return the scores in the order of the tables; sensitivity and specificity are recalls."""
    positive, classes = plan.benchmark.positive, plan.benchmark.classes
    named = {}
    if positive is not None:
        (negative,) = (name for name in classes if name != positive)
        named = {f"recall {positive}": "sensitivity", f"recall {negative}": "specificity"}
    renamed = {
        named[score.metric]: score.model_copy(update={"metric": named[score.metric]})
        for score in scores
        if score.metric in named
    }
    usual = [renamed[name] for name in ("sensitivity", "specificity") if name in renamed]
    compared = sorted(
        (score for score in scores if score.metric in COMPARED),
        key=lambda score: COMPARED.index(score.metric),
    )
    return [*compared, *usual, *(score for score in scores if score.metric not in COMPARED)]
