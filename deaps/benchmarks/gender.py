"""Female or male, over folds in which no person is split."""

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
    select_windows,
    subject_folds,
    window_examples,
)

_SUBJECTS = """
    SELECT DISTINCT r.dataset || '/' || r.subject AS subject
    FROM recordings r
    WHERE r.dataset = $dataset AND ($part IS NULL OR r.split = $part)
      AND r.status = 'ok' AND r.sex IS NOT NULL
      AND EXISTS (
        FROM window_counts c
        WHERE c.recording_id = r.recording_id AND c.quality <> 'Unacceptable'
      )
    ORDER BY subject
"""


class Gender(Benchmark):
    """The paper's table 2: windows of good quality, one of each subject by default."""

    name = "gender"
    title = "Gender"
    classes = ("female", "male")
    seen_in_training = True

    def datasets(self, settings: BenchmarkSettings) -> tuple[str, ...]:
        """Return the data set it needs."""
        return (settings.gender,)

    def protocol(self, settings: BenchmarkSettings, labels: DatasetLabels) -> str:
        """Return what is fitted on what and tested on what."""
        # How many there are is a fact of the data, which the report gives next to this.
        drawn = "" if settings.gender_subjects == "all" else ", drawn by seed"
        windows = settings.gender_windows
        of_each = "all windows of each" if windows == "all" else f"{windows} of each one's windows"
        return (
            f"{settings.folds} folds over subjects of {labels[settings.gender]} whose sex is "
            f"known{drawn}; {of_each}; no subject is split."
        )

    def quality_rule(self, settings: BenchmarkSettings) -> str:
        """Return which windows are used."""
        return "windows that pass the gate and are not Unacceptable"

    def examples(
        self, index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
    ) -> tuple[Examples, tuple[str, ...]]:
        """Return the windows drawn."""
        subjects, left_out = _draw_subjects(index, settings)
        columns = select_windows(
            index,
            settings.gender,
            "sex IS NOT NULL AND quality <> 'Unacceptable' AND list_contains($subjects, subject)",
            subjects=subjects,
        )
        if settings.gender_windows != "all":
            columns = draw_windows(columns, settings.gender_windows, settings.seed)
        labels = (columns["sex"] == "male").astype(np.int8)
        if len(np.unique(labels)) < len(self.classes):
            raise NotRunError(f"data set {settings.gender} does not have both sexes")
        return window_examples(columns, labels), left_out

    def folds(self, examples: Examples, settings: BenchmarkSettings) -> list[Fold]:
        """Return seeded folds by subject."""
        return subject_folds(examples, settings.folds, settings.seed)


def _draw_subjects(
    index: duckdb.DuckDBPyConnection, settings: BenchmarkSettings
) -> tuple[list[str], tuple[str, ...]]:
    source = DataPart.parse(settings.gender)
    values = {"dataset": source.dataset, "part": source.part}
    subjects = index.execute(_SUBJECTS, values).fetchnumpy()["subject"]
    wanted = settings.gender_subjects
    if wanted == "all" or len(subjects) == wanted:
        return subjects.tolist(), ()
    if len(subjects) < wanted:
        note = (
            f"nobody: all {len(subjects):,} subjects with usable windows are used; "
            "benchmarks.gender_subjects asks for more"
        )
        return subjects.tolist(), (note,)
    rng = np.random.Generator(np.random.Philox(key=[settings.seed, 0]))
    return rng.choice(subjects, wanted, replace=False).tolist(), ()
