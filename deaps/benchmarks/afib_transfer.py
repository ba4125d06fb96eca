"""AFib, fitted on few annotated recordings of one data set and tested on all of another."""

from __future__ import annotations

import duckdb

from deaps.benchmarks.afib_leave_one_out import AfibLeaveOneOut
from deaps.benchmarks.afib_windows import (
    CLASSES,
    afib_examples,
    describe_recordings,
    describe_windows,
)
from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings
from deaps.evaluation import DatasetLabels
from deaps.probing.examples import Examples, Fold
from deaps.probing.folds import given_sides
from deaps.probing.labelled_windows import NotRunError, joined


class AfibTransfer(Benchmark):
    """The paper's table 1, first part: MIT-ARR to MIT-AFIB."""

    name = "afib-transfer"
    title = "AFib: from one data set to another"
    classes = CLASSES
    positive = "AFib"
    followed = True
    few_labels = True
    stand_in = AfibLeaveOneOut.name

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data sets it needs."""
        return settings.afib_train, settings.afib_test

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        fitted = describe_recordings(settings.afib_train, settings, labels)
        tested = describe_recordings(settings.afib_test, settings, labels)
        return f"Fitted on {fitted}, tested on {tested}."

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return describe_windows(settings)

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows of both data sets."""
        if settings.afib_train == settings.afib_test:
            raise NotRunError("benchmarks.afib_train and afib_test name the same data set")
        train = afib_examples(index, settings.afib_train, settings, "train")
        test = afib_examples(index, settings.afib_test, settings, "test")
        return joined(train, test), ()

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return the one split."""
        return given_sides(examples)
