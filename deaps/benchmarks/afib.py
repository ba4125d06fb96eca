"""AFib in windows: fitted on one data set and tested on another, or leaving one subject out."""

from __future__ import annotations

import duckdb
import numpy as np

from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings, DataPart
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import (
    Examples,
    Fold,
    NotRunError,
    draw_windows,
    given_sides,
    joined,
    leave_one_subject_out,
    select_windows,
    window_examples,
)

AFIB = "AFIB"
CLASSES = ("normal", "AFib")
"""``normal`` is every other rhythm but those that are left out."""


def afib_examples(
    index: duckdb.DuckDBPyConnection, source: str, settings: BenchmarkSettings, side: str = ""
) -> Examples:
    """Return the windows of a data set that lie within one rhythm, labelled AFib or not."""
    condition = "rhythm IS NOT NULL AND NOT list_contains($excluded, rhythm)"
    columns = select_windows(index, source, condition, excluded=list(settings.afib_excluded))
    if DataPart.parse(source).dataset in settings.afib_recordings_only:
        with_afib = np.unique(columns["recording_id"][columns["rhythm"] == AFIB])
        kept = np.isin(columns["recording_id"], with_afib)
        columns = {name: column[kept] for name, column in columns.items()}
    if settings.windows_per_subject != "all":
        columns = draw_windows(columns, settings.windows_per_subject, settings.seed)
    is_afib = columns["rhythm"] == AFIB
    if is_afib.all() or not is_afib.any():
        raise NotRunError(f"data set {source} does not have both AFib and other rhythms labelled")
    return window_examples(columns, is_afib, side)


def describe_recordings(source: str, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
    """Return in words which recordings of a data set, or of a part of it, are used."""
    name = DataPart.parse(source).label(labels)
    if DataPart.parse(source).dataset in settings.afib_recordings_only:
        return f"the recordings of {name} that have AFib"
    return f"all recordings of {name}"


def describe_windows(settings: BenchmarkSettings) -> str:
    """Return in words which windows are used."""
    excluded = ", ".join(settings.afib_excluded) or "no rhythm"
    most = settings.windows_per_subject
    if most == "all":
        which = "every window that passes the gate and lies"
    else:
        which = f"up to {most} windows of each subject, drawn of those that pass the gate and lie"
    return f"{which} within one rhythm; {excluded} left out"


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
