"""The table of windows is the same from the previous index and from the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from storage.schema import RecordingRow
from tests.storage.made_store import make_row, publish_rows, write_recording


def windows(root: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(root / "index.duckdb", read_only=True) as index:
        return index.execute("SELECT * REPLACE (ifnull(psqi, -1) AS psqi) FROM windows").fetchall()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def rows(root: Path) -> list[RecordingRow]:
    made = [write_recording(root, make_row(f"r{k}"), 3 + k, seed=k) for k in range(4)]
    publish_rows(root, made)
    return made


def spoil(root: Path, row: RecordingRow) -> None:
    """Make a window file unreadable without changing its size."""
    path = root / str(row.path)
    path.chmod(0o644)
    path.write_bytes(b"x" * path.stat().st_size)


def changed(root: Path, rows: list[RecordingRow]) -> list[RecordingRow]:
    """Return the rows with one redone, one with another rhythm, one gone and one new."""
    redone = write_recording(root, make_row("r0", digest="0" * 64), 5, seed=9, hr_max=[70.0] * 5)
    new = write_recording(root, make_row("r9", rhythm="AFIB"), 2)
    return [redone, replace(rows[1], rhythm="N"), rows[3], new]


def test_windows_after_a_change_are_those_of_a_new_index(
    root: Path, rows: list[RecordingRow]
) -> None:
    after = changed(root, rows)
    publish_rows(root, after)
    updated = windows(root)
    (root / "index.duckdb").unlink()
    publish_rows(root, after)
    rebuilt = windows(root)
    assert len(updated) == len(rebuilt) == 5 + 4 + 6 + 2
    assert [row[1:] for row in updated] == [row[1:] for row in rebuilt]


def test_files_of_unchanged_recordings_are_not_opened(root: Path, rows: list[RecordingRow]) -> None:
    spoil(root, rows[3])
    publish_rows(root, changed(root, rows))
    assert sum(row[0] == 4 for row in windows(root)) == rows[3].n_windows


def test_a_damaged_index_is_not_used(root: Path, rows: list[RecordingRow]) -> None:
    before = windows(root)
    index = root / "index.duckdb"
    index.chmod(0o644)
    index.write_bytes(b"x" * index.stat().st_size)
    publish_rows(root, rows)
    assert windows(root) == before
