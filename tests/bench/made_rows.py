"""Stores made for measuring: many recordings, real file layout, invented content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage.files import window_path
from storage.schema import RecordingRow, Status
from storage.windows import recording_to_json, window_table, write_table, write_window_file
from tests.storage.made_store import make_columns, make_row, publish_rows

RHYTHMS = ("N", "AFIB", "AFL", None)


def publish_recordings(root: Path, signals: NDArray[np.float16]) -> None:
    """Write and publish one recording for each of ``signals``, (recordings, windows, 1000)."""
    rows = []
    for k, windows in enumerate(signals):
        row = make_row(f"r{k:04d}")
        path = root / window_path(row.dataset, row.name, row.digest or "")
        rows.append(write_window_file(path, make_columns(len(windows)), windows, row))
    publish_rows(root, rows)


def narrow_recordings(root: Path, n_recordings: int, n_windows: int) -> list[RecordingRow]:
    """Write window files whose windows have one sample each, as of two visits of subjects.

    The publisher never reads the signal, and 16 million real windows would be 32 GB.
    """
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n_recordings):
        row = make_row(
            f"shhs{k % 2 + 1}-{200001 + k // 2}",
            ("shhs", "afdb", "mitdb")[k % 7 % 3],
            subject=str(200001 + k // 2),
            visit=k % 2 + 1,
            n_windows=n_windows,
        )
        if k % 100 == 99:
            reason = ("no ECG channel: channels are EEG", "zero length: file is empty")[k % 3 % 2]
            rows.append(replace(row, status=Status.QUARANTINED, reason=reason, n_windows=0))
            continue
        rows.append(_write_narrow(root, row, _random_columns(rng, n_windows)))
    return rows


def _random_columns(rng: np.random.Generator, n: int) -> dict[str, Any]:
    scores = rng.random((5, n), dtype=np.float32)
    return make_columns(
        n,
        quality=rng.integers(0, 3, n).astype(np.int8),
        quality4=rng.integers(0, 3, n).astype(np.int8),
        quality3=rng.integers(0, 3, n).astype(np.int8),
        psqi=scores[0],
        ksqi=5 + scores[1],
        bassqi=scores[2],
        qsqi=scores[3],
        hr_max=60 + 60 * scores[4],
        rhythm=[RHYTHMS[code] for code in rng.integers(0, 4, n // 100 + 1) for _ in range(100)][:n],
    )


def _write_narrow(root: Path, row: RecordingRow, columns: dict[str, Any]) -> RecordingRow:
    relative = window_path(row.dataset, row.name, row.digest or "")
    path = root / relative
    path.parent.mkdir(parents=True)
    signal = np.zeros((row.n_windows, 1), np.float16)
    write_table(window_table(columns, signal, row, recording_to_json(row)), path)
    return replace(
        row,
        rhythms=tuple(rhythm for rhythm in RHYTHMS if rhythm),
        path=relative,
        bytes=path.stat().st_size,
        signal_offset=1,
        file_sha256=row.digest,
    )
