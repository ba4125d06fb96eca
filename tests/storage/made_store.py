"""Stores for tests: recordings of noise, with facts of the test's choice."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage import window_path
from storage.publish import publish
from storage.schema import DatasetRow, RecordingRow, RPeaks, SourceFile, Status
from storage.snapshot import Snapshot
from storage.windows import NO_BEATS, write_window_file

SETTINGS = {
    "signal": {
        "channels": ["ECG"],
        "highpass_hz": 0.5,
        "highpass_order": 5,
        "fix_polarity": False,
    }
}


def make_signal(n: int, seed: int = 0) -> NDArray[np.float16]:
    """Return n windows of noise."""
    return np.random.default_rng(seed).standard_normal((n, 1000)).astype(np.float16)


def make_columns(n: int, **changes: Any) -> dict[str, Any]:
    """Return columns of n windows: qualities in turn, the last psqi unknown, no rhythm."""
    score = np.linspace(0, 1, n, dtype=np.float32)
    columns: dict[str, Any] = {
        "start_s": np.arange(n) * 10.0,
        "quality": (np.arange(n) % 3).astype(np.int8),
        "quality4": (np.arange(n) % 3).astype(np.int8),
        "quality3": (np.arange(n) % 3).astype(np.int8),
        "quality_reason": np.where(np.arange(n) % 3 == 0, -1, 3).astype(np.int8),
        "reason_value": score,
        "reason_limit": score,
        "psqi": np.where(np.arange(n) == n - 1, np.nan, score).astype(np.float32),
        "ksqi": score,
        "bassqi": score,
        "qsqi": np.full(n, np.nan, np.float32),
        "hr_max": 60 + score,
        "flat": np.zeros(n, bool),
        "clipped": np.arange(n) % 2 == 1,
        "nonfinite": np.zeros(n, bool),
        "rhythm": [None] * n,
        "rhythm_share": np.full(n, np.nan, np.float32),
        "hr_mean": 60 + score,
        "hr_sd": score,
    }
    return columns | changes


def make_row(name: str = "r1", dataset: str = "ds", **changes: Any) -> RecordingRow:
    """Return the row of a recording before its windows are written."""
    digest = hashlib.sha256(f"{dataset}/{name}".encode()).hexdigest()
    row = RecordingRow(
        dataset=dataset,
        name=name,
        subject=f"s-{name}",
        visit=1,
        status=Status.OK,
        fs=250.0,
        n_samples=1000,
        mean_mv=0.1,
        std_mv=0.5,
        notes=("first note", "second"),
        digest=digest,
        settings_digest="made",
        sources=(
            SourceFile(f"{name}.hea", "annotation", 10, 1, 2, 3, "ab" * 32),
            SourceFile(f"{name}.dat", "signal", 20, 4, 5, 6, digest),
        ),
    )
    return replace(row, **changes)


def write_recording(
    root: Path,
    row: RecordingRow,
    n: int = 4,
    *,
    seed: int = 0,
    beats: RPeaks = NO_BEATS,
    **columns: Any,
) -> RecordingRow:
    """Write n windows of noise for ``row`` and return the row filled in."""
    path = root / window_path(row.dataset, row.name, row.digest or "")
    return write_window_file(path, make_columns(n, **columns), make_signal(n, seed), row, beats)


def publish_rows(root: Path, rows: list[RecordingRow], *, synthetic: bool = False) -> Snapshot:
    """Publish rows with the data sets they name."""
    names = sorted({row.dataset for row in rows})
    datasets = [
        DatasetRow(name, fingerprint="f", scanned_at_ns=7, synthetic=synthetic) for name in names
    ]
    return publish(root, rows, datasets=datasets, settings=SETTINGS)


def quarantined(name: str, reason: str, **changes: Any) -> RecordingRow:
    """Return the row of a recording that could not be read."""
    return make_row(name, status=Status.QUARANTINED, reason=reason, **changes)
