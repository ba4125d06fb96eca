"""From the answers of probes to the figures of each benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deaps.config import BenchmarkSettings
from deaps.evaluation import document
from deaps.evaluation.answers import AnswersByKey
from deaps.evaluation.comparisons import (
    Contest,
    Contestant,
    Family,
    average_ranks,
    compare_family,
    draw_contest,
    interval_fields,
)
from deaps.evaluation.curves import FewLabelFigures, few_label_figures
from deaps.evaluation.document import RepresentationRole
from deaps.evaluation.examples import Examples, Fold
from deaps.evaluation.metrics import (
    Auroc,
    Averaged,
    Confusions,
    Floats,
    Means,
    Tally,
    balanced_accuracy,
    cohen_kappa,
    confusion_matrix,
    mean_f1,
    precision,
    recall,
)
from deaps.evaluation.plan import Plan, configured_benchmarks
from deaps.evaluation.probes import PROBES, Answers
from deaps.evaluation.representations import FLOOR_NAMES, RR_FLOOR, Experiment, joined_name

_LADDER = "components"
_RANKED_BY = "accuracy"
_FOLLOWED = ("accuracy", "auroc")
"""Metrics along the steps: the paper's, and the one that no threshold can spoil."""


@dataclass(frozen=True, slots=True)
class Judge:
    """What decides who is compared with whom.

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
            name: BenchmarkFigures(plan, self._contestants(answers, name, self.probes[0]))
            for name, plan in plans.items()
        }

    def families(self) -> list[Family]:
        """Return the families of rivals."""
        rungs: list[str | None] = []
        sizes: list[str | None] = []
        for ablation in self.experiment.ablations:
            rows = rungs if ablation.name == _LADDER else sizes
            rows += [row.representation for row in ablation.rows]
        return [
            Family("methods", self.reference, self._others(self.experiment.methods())),
            Family("floors", self.reference, self._others(FLOOR_NAMES)),
            Family("components", self.reference, self._others(rungs)),
            Family("sizes", self.reference, self._others(sizes)),
            Family("joined", joined_name(self.reference), (RR_FLOOR,)),
        ]

    def other_probes(self, plan: Plan, answers: AnswersByKey) -> tuple[document.ProbeOutcome, ...]:
        """Return the compared metrics of one benchmark with every probe but the first."""
        records = []
        for probe in self.probes[1:]:
            contestants = self._contestants(answers, plan.benchmark.name, probe)
            figures = BenchmarkFigures(plan, contestants)
            records += [
                document.ProbeOutcome(
                    probe=PROBES[probe].title,
                    representation=contestant.name,
                    scores=figures.scores(contestant.name, COMPARED),
                )
                for contestant in contestants
            ]
        return tuple(records)

    def few_labels(self, plans: Mapping[str, Plan], answers: AnswersByKey) -> FewLabelFigures:
        """Return the few-label curves of methods and floors, and the reference's differences."""
        families = [family for family in self.families() if family.name in ("methods", "floors")]
        found = []
        for name, plan in plans.items():
            compared = self._contestants(answers, name, self.probes[0], few_labels=True)
            shown = [c for c in compared if c.role in ("method", "floor")]
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

    def _contestants(
        self, answers: AnswersByKey, benchmark: str, probe: str, *, few_labels: bool = False
    ) -> list[Contestant]:
        runs = runs_by_seed(answers, benchmark, probe, few_labels=few_labels)
        return [
            Contestant(name, self._role(name), tuple(by_seed.values()), set(by_seed) != {None})
            for name, by_seed in runs.items()
        ]

    def _role(self, name: str) -> RepresentationRole:
        roles: dict[str, RepresentationRole] = dict.fromkeys(FLOOR_NAMES, "floor")
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
    ranked = average_ranks(by_benchmark)
    return document.Ranks(
        metric=_RANKED_BY,
        mean=ranked.mean,
        by_benchmark=ranked.by_benchmark,
        critical_difference=ranked.critical_difference,
        left_out=ranked.left_out,
    )


def _followed_figures(plan: Plan, answers: Sequence[Answers]) -> dict[str, float]:
    tallies = tally_folds(plan.examples, plan.folds, answers, plan.benchmark.classes)
    return {metric: tallies[metric].value() for metric in _FOLLOWED if metric in tallies}


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

    def scores(self, name: str, metrics: Sequence[str] | None = None) -> tuple[document.Score, ...]:
        """Return a representation's figures, all that are defined or those of some metrics."""
        wanted = [m for m in self._contests if metrics is None or m in metrics]
        scores = [self._score(name, metric) for metric in wanted if name in self._values(metric)]
        return tuple(_with_usual_names(scores, self.plan))

    def outcome(self, name: str) -> document.Outcome:
        """Return a representation's record."""
        contestant = self.contestants[name]
        scores = self.scores(name)
        folds = self._folds(contestant)
        if len(folds) > 1:
            deviation = float(np.std([fold.accuracy for fold in folds]))
            scores = (scores[0].model_copy(update={"deviation": deviation}), *scores[1:])
        return document.Outcome(
            representation=name,
            scores=scores,
            confusion=tuple(map(tuple, self._confusion(contestant).tolist())),
            folds=folds,
        )

    def comparisons(self, families: Sequence[Family]) -> tuple[document.MetricComparison, ...]:
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

    def _score(self, name: str, metric: str) -> document.Score:
        runs = self._tallies[name][metric]
        by_seed = tuple(run.value() for run in runs)
        bare = document.Score(
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

    def _folds(self, contestant: Contestant) -> tuple[document.FoldScore, ...]:
        labels = self.plan.examples.labels
        return tuple(
            document.FoldScore(
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
        (score for score in scores if score.metric in COMPARED),
        key=lambda score: COMPARED.index(score.metric),
    )
    return [*compared, *usual, *(score for score in scores if score.metric not in COMPARED)]


def subjects_tested(examples: Examples, folds: Sequence[Fold]) -> NDArray[np.str_]:
    """Return who is tested, (n,), in the order of the tallies."""
    return np.unique(np.concatenate([examples.subjects[fold.test] for fold in folds]))


def tally_folds(
    examples: Examples,
    folds: Sequence[Fold],
    answers: Sequence[Answers],
    classes: Sequence[str],
) -> dict[str, Tally]:
    """Return a run's tallies by metric, from its answers to each fold's test side.

    ``accuracy`` is the mean over folds; where each fold tests one subject, over subjects.
    ``balanced accuracy``, ``f1``, ``recall CLASS`` and ``precision CLASS`` are of the confusion
    matrix over all folds. ``auroc``, if there are two classes and both are tested, is the mean
    over folds too; where each fold tests one subject, who may have one class, all folds' scores
    are ranked together.
    """
    people = subjects_tested(examples, folds)
    parts = [
        _Part(examples.labels[f.test], np.searchsorted(people, examples.subjects[f.test]), a)
        for f, a in zip(folds, answers, strict=True)
    ]
    n = len(people)
    tallies = {"accuracy": _accuracy(parts, n), **_of_confusion(parts, n, classes)}
    if len(classes) == len(np.unique(np.concatenate([part.labels for part in parts]))) == 2:
        tallies["auroc"] = _auroc(parts, n)
    return tallies


class _Part(NamedTuple):
    """One fold's tested examples."""

    labels: NDArray[np.int8]
    subject: NDArray[np.int64]
    answers: Answers


def _accuracy(parts: Sequence[_Part], n: int) -> Tally:
    means = [
        Means.of_examples(part.answers.labels == part.labels, part.subject, n) for part in parts
    ]
    if _leaves_one_out(parts, n):
        return Means(sum(mean.sums for mean in means) / sum(mean.counts for mean in means))
    return _joined(means)


def _of_confusion(parts: Sequence[_Part], n: int, classes: Sequence[str]) -> dict[str, Tally]:
    metrics = {"balanced accuracy": balanced_accuracy, "f1": mean_f1, "kappa": cohen_kappa}
    for number, name in enumerate(classes):
        metrics[f"recall {name}"] = partial(_of_class, recall, number)
        metrics[f"precision {name}"] = partial(_of_class, precision, number)
    together = Confusions.of_answers(
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.answers.labels for part in parts]),
        np.concatenate([part.subject for part in parts]),
        n_subjects=n,
        n_classes=len(classes),
        metric=balanced_accuracy,
    )
    return {name: Confusions(together.confusion, metric) for name, metric in metrics.items()}


def _of_class(metric: Callable[[Floats], Floats], number: int, confusion: Floats) -> Floats:
    return np.asarray(metric(confusion)[..., number])


def _auroc(parts: Sequence[_Part], n: int) -> Tally:
    if _leaves_one_out(parts, n):
        labels = np.concatenate([part.labels for part in parts])
        scores = np.concatenate([part.answers.scores[:, 1] for part in parts])
        return Auroc(labels, scores, np.concatenate([part.subject for part in parts]), n)
    return _joined(
        [Auroc(part.labels, part.answers.scores[:, 1], part.subject, n) for part in parts]
    )


def _joined(tallies: Sequence[Tally]) -> Tally:
    return tallies[0] if len(tallies) == 1 else Averaged(tallies)


def _leaves_one_out(parts: Sequence[_Part], n: int) -> bool:
    return len(parts) == n > 1 and all(len(np.unique(part.subject)) == 1 for part in parts)


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
    judge: Judge,
    answers: AnswersByKey,
) -> tuple[document.BenchmarkRecord, ...]:
    """Return the records with outcomes and, where they are reported, comparisons and probes."""
    return tuple(
        _with_figures(record, figures[record.name], judge, answers)
        if record.name in figures
        else record
        for record in records
    )


def _with_figures(
    record: document.BenchmarkRecord,
    figures: BenchmarkFigures,
    judge: Judge,
    answers: AnswersByKey,
) -> document.BenchmarkRecord:
    found: dict[str, object] = {"outcomes": tuple(map(figures.outcome, figures.contestants))}
    if record.reported:
        found["comparisons"] = figures.comparisons(judge.families())
        found["probes"] = judge.other_probes(figures.plan, answers)
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
