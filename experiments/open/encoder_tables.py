"""Write the tables of the shipped encoder's card.

Use: ``python -m experiments.open.encoder_tables METHOD SEED``.

METHOD and SEED name the training whose encoder is to be shipped. Run it in the folder of the open
experiment, after its evaluation and before the encoder is replaced: the one that the package then
has is the predecessor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from deaps.evaluation.answers import AnswersByKey, answer_paths, fold_jobs, read_answers
from deaps.evaluation.comparisons import Family
from deaps.evaluation.document import Difference, MetricComparison, Score
from deaps.evaluation.intervals import Entry
from deaps.evaluation.outcomes import BenchmarkFigures, runs_by_seed
from deaps.evaluation.plan import Plan, majority_class
from deaps.evaluation.probes import PROBES, Answers
from deaps.evaluation.representations import RR_BASELINE, SHIPPED_BASELINE
from deaps.experiment import RunKey
from deaps.models.encoder_file import encoder_file
from experiments.open.marked_tables import (
    CHALLENGE,
    CHALLENGE_F1,
    LEAVE_ONE_OF_SEVEN_OUT,
    LEAVE_ONE_OUT,
    SEX,
    TRANSFER,
    TRANSFER_ACCURACY,
    Column,
    as_table,
    difference_cell,
    figure_cell,
    with_tables,
)
from flows.config import load_settings
from flows.experiment.inputs import EvaluationInputs, dataset_labels, read_inputs
from flows.experiment.state import load_state
from storage.errors import DeapsError
from storage.snapshot import open_index

THIS = "this encoder"
MAJORITY = "majority class"
COMPARATORS = {
    SHIPPED_BASELINE: "predecessor",
    "random": "random encoder",
    RR_BASELINE: "six RR numbers",
    MAJORITY: MAJORITY,
}
SHOWN = {THIS: THIS, **COMPARATORS, "classical": "classical features"}
ROWS = (
    TRANSFER,
    TRANSFER_ACCURACY,
    LEAVE_ONE_OUT,
    LEAVE_ONE_OF_SEVEN_OUT,
    SEX,
    CHALLENGE,
    CHALLENGE_F1,
)


@dataclass(frozen=True)
class EncoderComparison:
    """One encoder next to its predecessor and the baselines, on every benchmark of the card."""

    plans: Mapping[str, Plan]
    answers: AnswersByKey
    chosen: RunKey

    def figures_table(self) -> str:
        """Return everybody's figures."""
        lines = [
            [row.head, *(figure_cell(self._score(row, name)) for name in SHOWN)] for row in ROWS
        ]
        return as_table(["", *SHOWN.values()], lines)

    def differences_table(self) -> str:
        """Return this encoder less each comparator."""
        lines = [
            [row.head, *(difference_cell(self._difference(row, name)) for name in COMPARATORS)]
            for row in ROWS
        ]
        return as_table([f"{THIS} less", *COMPARATORS.values()], lines)

    def _score(self, row: Column, name: str) -> Score | None:
        scores = self._figures[row.benchmark].scores(name, [row.metric])
        return scores[0] if scores else None

    def _difference(self, row: Column, comparator: str) -> Difference | None:
        compared = (c for c in self._comparisons[row.benchmark] if c.metric == row.metric)
        return next(
            (d for c in compared for d in c.differences if d.comparator == comparator), None
        )

    @cached_property
    def _comparisons(self) -> dict[str, Sequence[MetricComparison]]:
        family = Family("baselines", THIS, tuple(COMPARATORS))
        return {name: figures.comparisons([family]) for name, figures in self._figures.items()}

    @cached_property
    def _figures(self) -> dict[str, BenchmarkFigures]:
        names = dict.fromkeys(row.benchmark for row in ROWS)
        return {
            name: BenchmarkFigures(self.plans[name], list(self._entries(name))) for name in names
        }

    def _entries(self, benchmark: str) -> Iterator[Entry[Sequence[Answers]]]:
        runs = runs_by_seed(self.answers, benchmark, next(iter(PROBES)))
        # One file, whatever its seed was: the interval is over people alone.
        yield Entry(THIS, (runs[self.chosen.name][self.chosen.seed],), "method", seeded=False)
        yield Entry(MAJORITY, (majority_answers(self.plans[benchmark]),), "baseline", seeded=False)
        for name in runs.keys() & SHOWN.keys():
            by_seed = runs[name]
            yield Entry(name, tuple(by_seed.values()), "baseline", seeded=set(by_seed) != {None})


def majority_answers(plan: Plan) -> list[Answers]:
    """Return the answers of a classifier that only knows each fold's most frequent class."""
    return [
        Answers(
            np.full(len(fold.test), majority_class(plan.examples, fold), np.int8),
            np.zeros((len(fold.test), len(plan.benchmark.classes))),
        )
        for fold in plan.folds
    ]


def kept_answers(inputs: EvaluationInputs) -> AnswersByKey:
    """Return the answers that an evaluation has kept.

    Raises
    ------
    DeapsError
        If some are missing.
    """
    paths = answer_paths(inputs.requests, fold_jobs(inputs.plans))
    found = {key: read_answers(path) for key, path in paths.items()}
    if missing := [key for key, given in found.items() if given is None]:
        raise DeapsError(f"{len(missing)} answers are missing: run deaps evaluate --preset open")
    return {key: given for key, given in found.items() if given is not None}


def main(method: str, seed: int, card: Path) -> None:
    """Write the tables of ``card`` for the encoder of a training of the open experiment."""
    state = load_state(load_settings(preset="open"))
    with open_index(state.settings.store.root) as index:
        inputs = read_inputs(state, index, dataset_labels())
    made = EncoderComparison(inputs.plans, kept_answers(inputs), RunKey(method, seed))
    tables = {"figures": made.figures_table, "differences": made.differences_table}
    card.write_text(with_tables(card.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), encoder_file().with_name("README.md"))
