"""Sleep stages from ten seconds of ECG, in four classes and in three."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import duckdb
import numpy as np

from deaps.benchmarks.interface import Benchmark
from deaps.benchmarks.sleep_windows import (
    QUALITY_RULE,
    describe_protocol,
    sleep_columns,
    sleep_folds,
)
from deaps.config import BenchmarkSettings
from deaps.evaluation import DatasetLabels
from deaps.probing.examples import Examples, Fold
from deaps.probing.labelled_windows import NotRunError, window_examples


class SleepStage(Benchmark):
    """Wake, light sleep, deep sleep or REM."""

    name = "sleep-stage"
    title = "Sleep stage: wake, N1 or N2, N3, REM"
    classes: ClassVar[tuple[str, ...]] = ("W", "N1-N2", "N3", "REM")
    kappa = True
    of_stage: ClassVar[dict[str, int]] = {"W": 0, "N1": 1, "N2": 1, "N3": 2, "REM": 3}

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.sleep,) if settings.sleep else ()

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return describe_protocol(settings, labels)

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return QUALITY_RULE

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows drawn; movement and unscored stretches have no part."""
        names = ", ".join(f"'{stage}'" for stage in self.of_stage)
        columns, left_out = sleep_columns(index, settings, f"w.stage IN ({names})")
        labels = np.array([self.of_stage[stage] for stage in columns["stage"]], np.int8)
        if len(np.unique(labels)) < len(self.classes):
            raise NotRunError(f"data set {settings.sleep} does not have all of {self.classes}")
        examples = window_examples(columns, labels)
        return replace(examples, sides=columns["side"]), left_out

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return folds by subject, or the published split."""
        return sleep_folds(examples, settings)


class SleepStageOfThree(SleepStage):
    """Wake, sleep without REM, or REM."""

    name = "sleep-stage-3"
    title = "Sleep stage: wake, NREM, REM"
    classes = ("W", "NREM", "REM")
    of_stage: ClassVar[dict[str, int]] = {"W": 0, "N1": 1, "N2": 1, "N3": 1, "REM": 2}
