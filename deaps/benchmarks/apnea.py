"""Whether an apnea or hypopnea falls into ten seconds of sleep."""

from __future__ import annotations

from dataclasses import replace

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

_ASLEEP = "w.stage IN ('N1', 'N2', 'N3', 'REM')"


class Apnea(Benchmark):
    """Windows asleep: with a second or more of an apnea or hypopnea, or without any."""

    name = "apnea"
    title = "Apnea or hypopnea in the window"
    classes = ("none", "event")
    positive = "event"
    kappa = True

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.sleep,) if settings.sleep else ()

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        return describe_protocol(settings, labels)

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return f"{QUALITY_RULE}, asleep; those with less than a second of an event are left out"

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows drawn."""
        breathing = "(w.obstructive_apnea_s + w.central_apnea_s + w.mixed_apnea_s + w.hypopnea_s)"
        condition = f"{_ASLEEP} AND ({breathing} = 0 OR {breathing} >= 1)"
        columns, left_out = sleep_columns(index, settings, condition)
        labels = (columns["breathing_event_s"] > 0).astype(np.int8)
        if len(np.unique(labels)) < len(self.classes):
            raise NotRunError(f"data set {settings.sleep} does not have windows of both kinds")
        examples = window_examples(columns, labels)
        return replace(examples, sides=columns["side"]), left_out

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return folds by subject, or the published split."""
        return sleep_folds(examples, settings)
