"""AFib, fitted on all subjects but one and tested on that one."""

from __future__ import annotations

import duckdb

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
from deaps.probing.folds import leave_one_subject_out


class AfibLeaveOneOut(Benchmark):
    """The paper's table 1, second part."""

    name = "afib-loo"
    title = "AFib: leave one subject out"
    classes = CLASSES
    positive = "AFib"

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.afib_loo,)

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        recordings = describe_recordings(self.datasets(settings)[0], settings, labels)
        return (
            f"On {recordings}: fitted on all subjects but one, tested on that one; mean over folds."
        )

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return describe_windows(settings)

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows."""
        return afib_examples(index, self.datasets(settings)[0], settings), ()

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return a fold for each subject."""
        return leave_one_subject_out(examples)


class AfibLeaveOneOutFitted(AfibLeaveOneOut):
    """The same over the people that the transfer is fitted on."""

    name = "afib-loo-fitted"
    title = "AFib: leave one subject out, the transfer's training side"

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs, none if the benchmark above has it already."""
        is_same = settings.afib_train == settings.afib_loo
        return () if is_same else (settings.afib_train,)
