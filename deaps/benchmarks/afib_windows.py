"""Windows in atrial fibrillation and in other rhythms."""

from __future__ import annotations

import duckdb
import numpy as np

from deaps.config import BenchmarkSettings
from deaps.data_part import DataPart
from deaps.evaluation import DatasetLabels
from deaps.probing.examples import Examples
from deaps.probing.labelled_windows import (
    NotRunError,
    draw_windows,
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
