"""A store in which every benchmark has what it needs, and features whose answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deaps.config import BenchmarkSettings
from deaps.evaluation.examples import Examples, Windows
from deaps.evaluation.features import FeatureTable
from deaps.evaluation.plan import Plan
from storage.schema import RecordingRow, Sex
from tests.storage.made_store import make_row, publish_rows, write_recording

SETTINGS = BenchmarkSettings(
    afib_inner="afdb",
    gender="shhs",
    gender_subjects=20,
    folds=3,
    few_recordings=2,
    few_draws=3,
    bootstrap=50,
)


def recording(root: Path, dataset: str, name: str, n: int = 6, **changes: Any) -> RecordingRow:
    """Return a recording of n windows of the best quality that pass the gate."""
    columns = {key: changes.pop(key) for key in ("rhythm", "rhythm_share") if key in changes}
    row = make_row(name, dataset, **changes)
    open_gate = {"quality": np.zeros(n, np.int8), "clipped": np.zeros(n, bool)}
    return write_recording(root, row, n, seed=hash_seed(name), **open_gate, **columns)


def hash_seed(name: str) -> int:
    return sum(map(ord, name))


def rhythm_recording(
    root: Path, dataset: str, name: str, rhythms: str, **changes: Any
) -> RecordingRow:
    """Return a recording with a window for each letter: A AFib, N normal, L flutter, ? mixed."""
    labels = {"A": "AFIB", "N": "N", "L": "AFL", "?": "AFIB"}
    share = np.array([0.5 if letter == "?" else 1.0 for letter in rhythms], np.float32)
    return recording(
        root, dataset, name, len(rhythms),
        rhythm=[labels[letter] for letter in rhythms], rhythm_share=share, **changes,
    )  # fmt: skip


def make_labelled_store(root: Path) -> Path:
    """Publish mitdb (201 and 202 one subject), afdb, shhs and challenge2017."""
    rows = [
        rhythm_recording(root, "mitdb", "100", "NNNN"),
        rhythm_recording(root, "mitdb", "201", "NNAA?L", subject="201"),
        rhythm_recording(root, "mitdb", "202", "NNAA", subject="201"),
        rhythm_recording(root, "mitdb", "203", "ANAN"),
        rhythm_recording(root, "mitdb", "210", "AANN"),
    ]
    rows += [rhythm_recording(root, "afdb", f"0{i}", "NAANNA") for i in range(3)]
    for i in range(24):
        sex = Sex.MALE if i % 2 else Sex.FEMALE
        for visit in (1, 2):
            name = f"shhs{visit}-{i:03d}"
            facts = {"subject": f"{i:03d}", "visit": visit, "sex": sex, "channel": "ECG"}
            rows.append(recording(root, "shhs", name, 4, **facts))
    for i in range(60):
        split = "validation" if i < 12 else "train"
        rows.append(
            recording(
                root,
                "challenge2017",
                f"A{i:05d}",
                1 + i % 3,
                label="NAO~"[i % 4],
                split=split,
                subject=f"A{i:05d}",
            )
        )
    publish_rows(root, rows)
    return root


def table_of(plan: Plan, values: NDArray[np.floating]) -> FeatureTable:
    """Return features for a plan's windows, (n, d) by example."""
    windows: Windows = plan.examples.windows
    order = np.argsort(windows.key)
    return FeatureTable(windows.key[order], values[plan.examples.owner][order].astype(np.float32))


def made_examples(labels: list[int], subjects: list[str], **changes: Any) -> Examples:
    """Return examples of one window each."""
    n = len(labels)
    values: dict[str, Any] = {
        "labels": np.array(labels, np.int8),
        "subjects": np.array(subjects),
        "contents": np.array([f"c{i}" for i in range(n)]),
        "sides": np.full(n, ""),
        "windows": Windows(
            np.zeros(n, np.int32), np.arange(n, dtype=np.int32), np.zeros(n, np.uint64)
        ),
        "owner": np.arange(n),
    }
    return Examples(**values | changes)
