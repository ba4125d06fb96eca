"""The evaluation before: the last one of the same experiment on another snapshot."""

from __future__ import annotations

from pathlib import Path

import duckdb

from deaps.evaluation.document import EVALUATION_NAME, Evaluation, read_evaluation
from deaps.exhibits.snapshot_change import RecordingDigests, describe_change, recording_digests
from flows.experiment.folder import is_complete
from storage.files import INDEX_NAME, REPORTS_FOLDER, RUNS_FOLDER
from storage.snapshot import open_index


def with_change(evaluation: Evaluation, store: Path) -> Evaluation:
    """Return the evaluation with what changed since the one before, if there is one."""
    before = earlier_evaluation(evaluation, store)
    digests = before and snapshot_of(before, store)
    if before is None or not digests:
        return evaluation
    with open_index(store) as index:
        change = describe_change(before, evaluation, digests, recording_digests(index))
    return evaluation.model_copy(update={"change": change})


def earlier_evaluation(evaluation: Evaluation, store: Path) -> Evaluation | None:
    """Return the newest evaluation with the same settings on another snapshot, None without."""
    made = evaluation.provenance
    documents = (store / REPORTS_FOLDER).glob(f"*/{EVALUATION_NAME}")
    for document in sorted(documents, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        earlier = _read(document.parent)
        if earlier is None or earlier.provenance.snapshot_id == made.snapshot_id:
            continue
        if earlier.provenance.settings_digest == made.settings_digest:
            return earlier
    return None


def _read(folder: Path) -> Evaluation | None:
    """Return a complete evaluation; one of another version of the document is none."""
    try:
        return read_evaluation(folder) if is_complete(folder) else None
    except ValueError:
        return None


def snapshot_of(evaluation: Evaluation, store: Path) -> RecordingDigests | None:
    """Return the recordings of an evaluation's snapshot, from the index that its runs keep."""
    for representation in evaluation.representations:
        for run in representation.runs:
            path = store / RUNS_FOLDER / run.name / INDEX_NAME
            if path.is_file():
                with duckdb.connect(path, read_only=True) as index:
                    return recording_digests(index)
    return None
