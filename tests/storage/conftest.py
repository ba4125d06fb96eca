from __future__ import annotations

from pathlib import Path

import pytest

from storage import RecordingRow, Snapshot
from tests.storage.made_store import make_row, publish_rows, quarantined, write_recording


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def rows(root: Path) -> list[RecordingRow]:
    """Three recordings of 4, 5 and 6 windows, two visits of subject s1, and a quarantined one."""
    visits = [("a1", "s1", 1), ("a2", "s1", 2), ("a3", "s2", 1)]
    written = [
        write_recording(root, make_row(name, subject=subject, visit=visit), n=4 + i, seed=i)
        for i, (name, subject, visit) in enumerate(visits)
    ]
    return [*written, quarantined("bad", "no ECG channel")]


@pytest.fixture
def published(root: Path, rows: list[RecordingRow]) -> Snapshot:
    return publish_rows(root, rows)
