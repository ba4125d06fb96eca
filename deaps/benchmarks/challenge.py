"""The Challenge of 2017: normal, AFib or other rhythm, recording by recording."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import duckdb
import numpy as np

from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import (
    Examples,
    Fold,
    NotRunError,
    given_sides,
    recording_examples,
    select_windows,
    without_copies_of_tested,
)

_LABELS = {"N": 0, "A": 1, "O": 2}
CLASSES = ("normal", "AFib", "other")


def challenge_examples(
    index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
) -> tuple[Examples, tuple[str, ...]]:
    """Return the recordings of both sides, none of them on both, and what was left out."""
    condition = f"label IN ({', '.join(repr(name) for name in _LABELS)})"
    columns = select_windows(index, settings.challenge, condition)
    labels = np.array([_LABELS[label] for label in columns["label"]], np.int8)
    sides = np.where(columns["split"] == "validation", "test", "train")
    examples, copies = without_copies_of_tested(recording_examples(columns, labels, sides))
    noisy = _count_noisy(index, settings.challenge)
    left_out = [f"{noisy:,} recordings labelled noisy"] if noisy else []
    left_out += [f"{copies:,} training copies of validation recordings"] if copies else []
    return examples, tuple(left_out)


def _count_noisy(index: duckdb.DuckDBPyConnection, dataset: str) -> int:
    sql = "SELECT count(*) FROM recordings WHERE dataset = $dataset AND label = '~'"
    row = index.execute(sql, {"dataset": dataset}).fetchone()
    return row[0] if row else 0


class Challenge2017(Benchmark):
    """The paper's table 3: many annotated recordings."""

    name = "challenge2017"
    title = "Challenge 2017: normal, AFib or other"
    classes = CLASSES
    followed = True
    few_labels = True
    metrics = ("f1",)
    overlap: ClassVar[Literal["remove", "keep"]] = "remove"

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.challenge,) if self.overlap in settings.challenge_overlap else ()

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return (
            f"Fitted on the training recordings of {labels[settings.challenge]}, tested on its "
            "validation recordings; a recording's features are the mean over its windows."
        )

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the recordings."""
        examples, left_out = challenge_examples(index, settings)
        if set(examples.sides) != {"train", "test"}:
            raise NotRunError(
                f"data set {settings.challenge} does not have both training and validation"
            )
        return examples, left_out

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return the one split."""
        return given_sides(examples)


class Challenge2017WithCopies(Challenge2017):
    """The same with the validation recordings among those fitted on.

    The paper speaks of 8,500 training recordings, which may include them.
    """

    name = "challenge2017-leaking"
    title = "Challenge 2017 with its validation recordings in training (leaks)"
    followed = False
    few_labels = False
    leak = "The tested recordings are among those that the classifier was fitted on."
    overlap = "keep"

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return (
            f"Fitted on all training recordings of {labels[settings.challenge]}, which include its "
            "validation recordings, and tested on these: a leak, shown only because others may "
            "report such figures."
        )

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return the one split, with the tested recordings on the training side, too."""
        return [
            replace(fold, train=np.union1d(fold.train, fold.test))
            for fold in super().folds(examples, settings)
        ]
