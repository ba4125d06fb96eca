"""Inner folds: what settings may be chosen by, apart from all that is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import duckdb
import numpy as np

from deaps.benchmarks.afib import CLASSES as AFIB_CLASSES
from deaps.benchmarks.afib import afib_examples, describe_windows
from deaps.benchmarks.challenge import CLASSES, challenge_examples
from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings, DataPart
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import Examples, Fold, few_labels, subject_folds


def _training_side(
    index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
) -> tuple[Examples, tuple[str, ...]]:
    examples, left_out = challenge_examples(index, settings)
    return examples.keep(examples.sides == "train"), left_out


class InnerFolds(Benchmark):
    """Many labels: five folds."""

    name = "inner-folds"
    title = "Inner folds, many labels"
    classes: ClassVar[tuple[str, ...]] = CLASSES
    reported = False
    followed = True

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.challenge,)

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return (
            f"{settings.folds} folds over the training recordings of {labels[settings.challenge]}."
        )

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the training recordings."""
        return _training_side(index, settings)

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return seeded folds."""
        return subject_folds(examples, settings.folds, settings.seed)


class InnerFewLabels(InnerFolds):
    """Few labels: AFib or not, fitted on some recordings of each."""

    name = "inner-few"
    title = "Inner folds, few labels"
    classes = ("not AFib", "AFib")
    positive = "AFib"

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return (
            f"AFib or not, fitted on {settings.few_recordings} training recordings of each in "
            f"{labels[settings.challenge]}, tested on its other training recordings; mean over "
            f"{settings.few_draws} draws."
        )

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the training recordings, AFib or not."""
        examples, left_out = _training_side(index, settings)
        is_afib = examples.labels == CLASSES.index("AFib")
        return replace(examples, labels=is_afib.astype(np.int8)), left_out

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return the draws."""
        return few_labels(examples, settings.few_recordings, settings.few_draws, settings.seed)


class InnerAfib(Benchmark):
    """AFib across people, on people that no reported benchmark tests."""

    name = "inner-afib"
    title = "Inner folds, AFib across people"
    classes = AFIB_CLASSES
    positive = "AFib"
    reported = False
    followed = True
    seen_in_training = True

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs, if one is set."""
        return (settings.afib_inner,) if settings.afib_inner else ()

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        people = DataPart.parse(self.datasets(settings)[0]).label(labels)
        return f"{settings.folds} folds over the people of {people}."

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return describe_windows(settings)

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows."""
        return afib_examples(index, self.datasets(settings)[0], settings), ()

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return seeded folds in which no person is split."""
        return subject_folds(examples, settings.folds, settings.seed)
