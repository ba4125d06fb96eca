"""Windows in atrial fibrillation and in other rhythms."""

from __future__ import annotations

import duckdb
import numpy as np

from deaps.config import BenchmarkSettings
from deaps.evaluation import DatasetLabels
from deaps.probing.examples import Examples
from deaps.probing.labelled_windows import NotRunError, select_windows, window_examples

AFIB = "AFIB"
CLASSES = ("normal", "AFib")
"""``normal`` is every other rhythm but those that are left out."""


def afib_examples(
    index: duckdb.DuckDBPyConnection, dataset: str, settings: BenchmarkSettings, side: str = ""
) -> Examples:
    """Return the windows of a data set that lie within one rhythm, labelled AFib or not."""
    condition = "rhythm IS NOT NULL AND NOT list_contains($excluded, rhythm)"
    columns = select_windows(index, dataset, condition, excluded=list(settings.afib_excluded))
    is_afib = columns["rhythm"] == AFIB
    examples = window_examples(columns, is_afib, side)
    if dataset in settings.afib_recordings_only:
        with_afib = np.unique(columns["recording_id"][is_afib])
        examples = examples.keep(np.isin(columns["recording_id"], with_afib))
    if len(np.unique(examples.labels)) < len(CLASSES):
        raise NotRunError(f"data set {dataset} does not have both AFib and other rhythms labelled")
    return examples


def describe_recordings(dataset: str, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
    """Return in words which recordings of a data set are used."""
    if dataset in settings.afib_recordings_only:
        return f"the recordings of {labels[dataset]} that have AFib"
    return f"all recordings of {labels[dataset]}"


def describe_windows(settings: BenchmarkSettings) -> str:
    """Return in words which windows are used."""
    excluded = ", ".join(settings.afib_excluded) or "no rhythm"
    return f"every window that passes the gate and lies within one rhythm; {excluded} left out"
