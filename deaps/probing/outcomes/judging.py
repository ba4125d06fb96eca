"""From all answers of an evaluation to its figures, benchmark by benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from deaps import evaluation
from deaps.evaluation import RepresentationRole
from deaps.experiment import Experiment
from deaps.probing.answers import AnswersByKey
from deaps.probing.outcomes.contest import Contestant, Family
from deaps.probing.outcomes.curves import FewLabelFigures, few_label_figures
from deaps.probing.outcomes.figures import COMPARED, BenchmarkFigures
from deaps.probing.plan import Plan
from deaps.probing.probes import PROBES, Answers
from deaps.probing.representations import FLOOR_NAMES, RR_FLOOR, joined_name
from deaps.probing.statistics.average_ranks import average_ranks
from deaps.probing.statistics.fold_tallies import tally_folds

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

    def other_probes(
        self, plan: Plan, answers: AnswersByKey
    ) -> tuple[evaluation.ProbeOutcome, ...]:
        """Return the compared metrics of one benchmark with every probe but the first."""
        records = []
        for probe in self.probes[1:]:
            contestants = self._contestants(answers, plan.benchmark.name, probe)
            figures = BenchmarkFigures(plan, contestants)
            records += [
                evaluation.ProbeOutcome(
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


def ranks(
    figures: Mapping[str, BenchmarkFigures], methods: Sequence[str]
) -> evaluation.Ranks | None:
    """Return the mean ranks of the methods over the reported benchmarks that leak nothing."""
    by_benchmark = {
        name: {m: v for m in methods if (v := own.value(m, _RANKED_BY)) is not None}
        for name, own in figures.items()
        if own.plan.benchmark.reported and own.plan.benchmark.leak is None
    }
    if not any(by_benchmark.values()):
        return None
    ranked = average_ranks(by_benchmark)
    return evaluation.Ranks(
        metric=_RANKED_BY,
        mean=ranked.mean,
        by_benchmark=ranked.by_benchmark,
        critical_difference=ranked.critical_difference,
        left_out=ranked.left_out,
    )


def _followed_figures(plan: Plan, answers: Sequence[Answers]) -> dict[str, float]:
    tallies = tally_folds(plan.examples, plan.folds, answers, plan.benchmark.classes)
    return {metric: tallies[metric].value() for metric in _FOLLOWED if metric in tallies}
