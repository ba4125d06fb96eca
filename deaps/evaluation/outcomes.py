"""From the answers of probes to the figures of each benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deaps.config import BenchmarkSettings
from deaps.evaluation import document
from deaps.evaluation.answers import AnswersByKey
from deaps.evaluation.comparisons import Family, average_ranks, compare
from deaps.evaluation.curves import FewLabelFigures, few_label_figures
from deaps.evaluation.document import RepresentationRole
from deaps.evaluation.intervals import Entry, Estimate, bounds_of, estimate
from deaps.evaluation.metrics import METRICS, confusion_matrix, metric_bounds, tally_folds
from deaps.evaluation.plan import Plan, configured_benchmarks
from deaps.evaluation.probes import PROBES, Answers
from deaps.evaluation.representations import BASELINE_NAMES, RR_BASELINE, joined_name
from deaps.evaluation.tallies import Tally
from deaps.experiment import Experiment

_LADDER = "components"
_RANKED_BY = "accuracy"


@dataclass(frozen=True, slots=True)
class Scorer:
    """Turns answers into figures, and decides which representations are compared.

    ``probes`` are names; the first is the one that the tables show.
    """

    experiment: Experiment
    reference: str
    probes: Sequence[str]

    def figures(
        self, plans: Mapping[str, Plan], answers: AnswersByKey
    ) -> dict[str, BenchmarkFigures]:
        """Return the figures of every benchmark with the first probe."""
        return {
            name: BenchmarkFigures(plan, self._entries(answers, name, self.probes[0]))
            for name, plan in plans.items()
        }

    def families(self) -> list[Family]:
        """Return the families of comparators."""
        components: list[str | None] = []
        sizes: list[str | None] = []
        for ablation in self.experiment.ablations:
            rows = components if ablation.name == _LADDER else sizes
            rows += [row.representation for row in ablation.rows]
        return [
            Family("methods", self.reference, self._others(self.experiment.methods())),
            Family("baselines", self.reference, self._others(BASELINE_NAMES)),
            Family("components", self.reference, self._others(components)),
            Family("sizes", self.reference, self._others(sizes)),
            Family("joined", joined_name(self.reference), (RR_BASELINE,)),
        ]

    def other_probes(self, plan: Plan, answers: AnswersByKey) -> tuple[document.ProbeOutcome, ...]:
        """Return the compared metrics of one benchmark with every probe but the first."""
        records = []
        for probe in self.probes[1:]:
            entries = self._entries(answers, plan.benchmark.name, probe)
            figures = BenchmarkFigures(plan, entries)
            records += [
                document.ProbeOutcome(
                    probe=PROBES[probe].title,
                    representation=entry.name,
                    scores=figures.scores(entry.name, tuple(METRICS)),
                )
                for entry in entries
            ]
        return tuple(records)

    def few_labels(self, plans: Mapping[str, Plan], answers: AnswersByKey) -> FewLabelFigures:
        """Return the few-label curves of methods and baselines, and the reference's differences."""
        families = [family for family in self.families() if family.name in ("methods", "baselines")]
        found = []
        for name, plan in plans.items():
            entries = self._entries(answers, name, self.probes[0], few_labels=True)
            shown = [entry for entry in entries if entry.role in ("method", "baseline")]
            found.append(few_label_figures(plan, shown, families))
        return FewLabelFigures(
            tuple(curve for each in found for curve in each.curves),
            tuple(comparison for each in found for comparison in each.comparisons),
        )

    def figures_by_step(
        self,
        plans: Mapping[str, Plan],
        answers: AnswersByKey,
        seeds: Mapping[str, int | None],
    ) -> dict[tuple[str, str, str], dict[int | None, float]]:
        """Return figures at each step, the last being None.

        They are by representation, benchmark and metric: accuracy and, of two classes, AUROC. Of
        each representation one seed is followed, with the first probe.
        """
        found: dict[tuple[str, str, str], dict[int | None, float]] = {}
        for key, given in answers.items():
            followed = not key.few_labels and seeds.get(key.representation, key.seed) == key.seed
            if followed and key.probe == self.probes[0]:
                for metric, value in _followed_figures(plans[key.benchmark], given).items():
                    course = (key.representation, key.benchmark, metric)
                    found.setdefault(course, {})[key.step] = value
        return {course: by_step for course, by_step in found.items() if len(by_step) > 1}

    def _entries(
        self, answers: AnswersByKey, benchmark: str, probe: str, *, few_labels: bool = False
    ) -> list[Entry[Sequence[Answers]]]:
        runs = runs_by_seed(answers, benchmark, probe, few_labels=few_labels)
        return [
            Entry(name, tuple(by_seed.values()), self._role(name), seeded=set(by_seed) != {None})
            for name, by_seed in runs.items()
        ]

    def _role(self, name: str) -> RepresentationRole:
        roles: dict[str, RepresentationRole] = dict.fromkeys(BASELINE_NAMES, "baseline")
        roles |= {trained.name: trained.role for trained in self.experiment.trained}
        roles[joined_name(self.reference)] = "joined"
        return roles[name]

    def _others(self, names: Iterable[str | None]) -> tuple[str, ...]:
        others = (name for name in names if name is not None and name != self.reference)
        return tuple(dict.fromkeys(others))


def runs_by_seed(
    answers: AnswersByKey, benchmark: str, probe: str, *, few_labels: bool = False
) -> dict[str, dict[int | None, list[Answers]]]:
    """Return one probe's answers in one benchmark, by representation and seed."""
    runs: dict[str, dict[int | None, list[Answers]]] = {}
    for key, given in answers.items():
        wanted = (benchmark, probe, few_labels, None)
        if (key.benchmark, key.probe, key.few_labels, key.step) == wanted:
            runs.setdefault(key.representation, {})[key.seed] = given
    return runs


def ranks(figures: Mapping[str, BenchmarkFigures], methods: Sequence[str]) -> document.Ranks | None:
    """Return the mean ranks of the methods over the reported benchmarks that leak nothing."""
    by_benchmark = {
        name: {m: v for m in methods if (v := own.value(m, _RANKED_BY)) is not None}
        for name, own in figures.items()
        if own.plan.benchmark.reported and own.plan.benchmark.leak is None
    }
    if not any(by_benchmark.values()):
        return None
    return average_ranks(by_benchmark, _RANKED_BY)


def _followed_figures(plan: Plan, answers: Sequence[Answers]) -> dict[str, float]:
    tallies = _tally(plan, answers)
    return {name: tallies[name].value() for name in tallies if _is_followed(name)}


def _is_followed(metric: str) -> bool:
    return metric in METRICS and METRICS[metric].followed


def _tally(plan: Plan, answers: Sequence[Answers]) -> dict[str, Tally]:
    """Return the tallies of one run's answers, by metric."""
    benchmark = plan.benchmark
    return tally_folds(
        plan.examples, plan.folds, answers, benchmark.classes, extra=benchmark.metrics
    )


class BenchmarkFigures:
    """All figures of one benchmark with one probe."""

    def __init__(self, plan: Plan, entries: Sequence[Entry[Sequence[Answers]]]) -> None:
        self.plan = plan
        self.entries = {entry.name: entry for entry in entries}
        self._tallies = {entry.name: _tallies(plan, entry) for entry in entries}
        names = dict.fromkeys(metric for own in self._tallies.values() for metric in own)
        self._estimates = {metric: self._estimate(metric) for metric in names}

    def scores(self, name: str, metrics: Sequence[str] | None = None) -> tuple[document.Score, ...]:
        """Return a representation's figures, all that are defined or those of some metrics."""
        wanted = [m for m in self._estimates if metrics is None or m in metrics]
        scores = [self._score(name, metric) for metric in wanted if metric in self._tallies[name]]
        return tuple(_with_usual_names(scores, self.plan))

    def outcome(self, name: str) -> document.Outcome:
        """Return a representation's record."""
        scores = self.scores(name)
        folds = self._folds(name)
        if len(folds) > 1:
            deviation = float(np.std([fold.accuracy for fold in folds]))
            scores = (scores[0].model_copy(update={"deviation": deviation}), *scores[1:])
        return document.Outcome(
            representation=name,
            scores=scores,
            confusion=tuple(map(tuple, self._confusion(name).tolist())),
            folds=folds,
        )

    def comparisons(self, families: Sequence[Family]) -> tuple[document.MetricComparison, ...]:
        """Return every family by every metric that its reference has."""
        made = [
            compare(self._estimates[metric], family, metric, seed=self.plan.settings.seed)
            for metric in METRICS
            if metric in self._estimates
            for family in families
        ]
        return tuple(comparison for comparison in made if comparison is not None)

    def value(self, name: str, metric: str) -> float | None:
        """Return a figure, the mean over seeds, None where it is undefined."""
        runs = self._tallies.get(name, {}).get(metric)
        return None if runs is None else float(np.mean([run.value() for run in runs]))

    def _estimate(self, metric: str) -> dict[str, Estimate]:
        entries = [
            entry.with_runs(self._tallies[name][metric])
            for name, entry in self.entries.items()
            if metric in self._tallies[name]
        ]
        settings = self.plan.settings
        return estimate(entries, draws=settings.bootstrap, seed=settings.seed)

    def _score(self, name: str, metric: str) -> document.Score:
        by_seed = tuple(run.value() for run in self._tallies[name][metric])
        return document.Score(
            metric=metric,
            value=float(np.mean(by_seed)),
            n=self._behind(name, metric),
            by_seed=by_seed,
            **bounds_of(self._estimates[metric].get(name), metric_bounds(metric)),
        )

    def _confusion(self, name: str) -> NDArray[np.int64]:
        examples, n_classes = self.plan.examples, len(self.plan.benchmark.classes)
        return np.sum(
            [
                confusion_matrix(examples.labels[fold.test], answers.labels, n_classes)
                for run in self.entries[name].runs
                for fold, answers in zip(self.plan.folds, run, strict=True)
            ],
            axis=0,
        )

    def _folds(self, name: str) -> tuple[document.FoldScore, ...]:
        labels, runs = self.plan.examples.labels, self.entries[name].runs
        return tuple(
            document.FoldScore(
                name=fold.name,
                n=len(fold.test),
                accuracy=float(np.mean([run[place].labels == labels[fold.test] for run in runs])),
            )
            for place, fold in enumerate(self.plan.folds)
        )

    def _behind(self, name: str, metric: str) -> int:
        """Return the number of examples behind a figure of one seed."""
        confusion = self._confusion(name)
        kind, _, of_class = metric.partition(" ")
        if kind not in ("recall", "precision"):
            counted = confusion.sum()
        else:
            place = self.plan.benchmark.classes.index(of_class)
            counted = confusion.sum(axis=1 if kind == "recall" else 0)[place]
        return round(int(counted) / len(self.entries[name].runs))


def _tallies(plan: Plan, entry: Entry[Sequence[Answers]]) -> dict[str, tuple[Tally, ...]]:
    """Return the tallies of each seed, by metric; a metric undefined for some seed is left out."""
    by_seed = [_tally(plan, answers) for answers in entry.runs]
    return {
        metric: tuple(tallies[metric] for tallies in by_seed)
        for metric in by_seed[0]
        if all(np.isfinite(tallies[metric].value()) for tallies in by_seed)
    }


def _with_usual_names(scores: Sequence[document.Score], plan: Plan) -> list[document.Score]:
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
        (score for score in scores if score.metric in METRICS),
        key=lambda score: list(METRICS).index(score.metric),
    )
    return [*compared, *usual, *(score for score in scores if score.metric not in METRICS)]


def benchmark_records(
    settings: BenchmarkSettings,
    plans: Mapping[str, Plan],
    not_run: Mapping[str, str],
    labels: document.DatasetLabels,
    seen: Mapping[str, str],
) -> tuple[document.BenchmarkRecord, ...]:
    """Return every benchmark as the report describes it, also those that were not run."""
    return tuple(
        document.BenchmarkRecord(
            name=benchmark.name,
            title=benchmark.title,
            protocol=benchmark.protocol(settings, labels),
            classes=benchmark.classes,
            reported=benchmark.reported,
            leak=benchmark.leak,
            seen=seen.get(benchmark.name),
            not_run=not_run.get(benchmark.name),
            facts=plans[benchmark.name].facts if benchmark.name in plans else None,
        )
        for benchmark in configured_benchmarks(settings)
    )


def with_figures(
    records: Iterable[document.BenchmarkRecord],
    figures: Mapping[str, BenchmarkFigures],
    scorer: Scorer,
    answers: AnswersByKey,
) -> tuple[document.BenchmarkRecord, ...]:
    """Return the records with outcomes and, where they are reported, comparisons and probes."""
    return tuple(
        _with_figures(record, figures[record.name], scorer, answers)
        if record.name in figures
        else record
        for record in records
    )


def _with_figures(
    record: document.BenchmarkRecord,
    figures: BenchmarkFigures,
    scorer: Scorer,
    answers: AnswersByKey,
) -> document.BenchmarkRecord:
    found: dict[str, object] = {"outcomes": tuple(map(figures.outcome, figures.entries))}
    if record.reported:
        found["comparisons"] = figures.comparisons(scorer.families())
        found["probes"] = scorer.other_probes(figures.plan, answers)
    return record.model_copy(update=found)


def accuracy_table(records: Iterable[document.BenchmarkRecord]) -> list[dict[str, str]]:
    """Return a row for each representation with its accuracy in each benchmark, as text."""
    rows: dict[str, dict[str, str]] = {}
    for record in records:
        for outcome in record.outcomes:
            name = outcome.representation
            row = rows.setdefault(name, {"representation": name})
            row[record.name] = f"{100 * outcome.scores[0].value:.1f} %"
    return list(rows.values())


def trial_records(
    experiment: Experiment, records: Sequence[document.BenchmarkRecord]
) -> tuple[document.Trial, ...]:
    """Return the trials, each after its method as it is set, with what the inner folds say."""
    tried = [trained for trained in experiment.trained if trained.role == "trial"]
    as_set = {t.plan.method: t for t in experiment.trained if t.role == "method"}
    listed = []
    for method in dict.fromkeys(trained.plan.method for trained in tried):
        listed += [as_set[method]] if method in as_set else []
        listed += [trained for trained in tried if trained.plan.method == method]
    return tuple(
        document.Trial(
            name=trained.label,
            changed=", ".join(trained.changed) or "nothing",
            scores=_inner_scores(trained.name, records),
            chosen=trained.role == "method",
        )
        for trained in listed
    )


def _inner_scores(
    representation: str, records: Iterable[document.BenchmarkRecord]
) -> dict[str, float]:
    inner = (record for record in records if not record.reported)
    found = ((record.name, record.outcome(representation)) for record in inner)
    return {name: outcome.scores[0].value for name, outcome in found if outcome is not None}


def trained_ablations(
    ablations: Iterable[document.Ablation], trained: Iterable[str]
) -> tuple[document.Ablation, ...]:
    """Return the ablations, their rows without a finished training marked as not trained."""
    present = set(trained)
    return tuple(
        ablation.model_copy(update={"rows": tuple(_present(row, present) for row in ablation.rows)})
        for ablation in ablations
    )


def _present(row: document.AblationRow, trained: set[str]) -> document.AblationRow:
    is_trained = row.representation in trained
    return row if is_trained else row.model_copy(update={"representation": None})
