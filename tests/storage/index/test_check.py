"""Checks of recordings and of a filled index before publication."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from storage import Snapshot
from storage.errors import DeapsError
from storage.index.build import check_index, check_rows
from tests.storage.made_store import make_row, quarantined, write_recording


@pytest.fixture
def index(root: Path, published: Snapshot, tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a copy of an index for writing."""
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(root / "index.duckdb", copy)
    with duckdb.connect(copy) as connection:
        yield connection


def test_a_filled_index_passes(index: duckdb.DuckDBPyConnection) -> None:
    check_index(index)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE window_counts SET n_windows = n_windows + 1 WHERE recording_id = 1",
        "DELETE FROM window_counts WHERE recording_id = 1",
        "UPDATE window_counts SET first_row = first_row + 1 WHERE recording_id = 1",
        "UPDATE window_counts SET last_row = last_row + 1 WHERE recording_id = 1",
        "UPDATE recordings SET status = 'quarantined' WHERE recording_id = 1",
    ],
)
def test_windows_that_are_not_those_of_the_recording_are_named(
    index: duckdb.DuckDBPyConnection, change: str
) -> None:
    index.execute(change)
    with pytest.raises(DeapsError, match=r"ds/a1 has \d windows, expected \d"):
        check_index(index)


def test_windows_of_no_recording_are_named(index: duckdb.DuckDBPyConnection) -> None:
    index.execute("INSERT INTO window_counts VALUES (99, 'Excellent', NULL, 1, 0, 0)")
    with pytest.raises(DeapsError, match="recording 99 has 1 windows"):
        check_index(index)


def test_sources_of_no_recording_are_a_fault_of_the_program(
    index: duckdb.DuckDBPyConnection,
) -> None:
    index.execute("INSERT INTO sources SELECT * REPLACE (99 AS recording_id) FROM sources LIMIT 2")
    with pytest.raises(ValueError, match="2 rows of sources belong to no recording"):
        check_index(index)


@pytest.mark.parametrize(
    "change", [{"bytes": 7}, {"path": None}, {"path": "windows/x"}, {"signal_offset": None}]
)
def test_a_row_without_its_own_file_is_refused(root: Path, change: dict[str, Any]) -> None:
    row = write_recording(root, make_row("r1"))
    check_rows(root, [row])
    with pytest.raises(DeapsError, match="ds/r1: window file"):
        check_rows(root, [row, replace(row, **change)])


def test_recordings_without_windows_and_quarantined_ones_need_no_file(root: Path) -> None:
    check_rows(root, [make_row("short"), quarantined("bad", "x", path="windows/x", n_windows=3)])
    with pytest.raises(DeapsError, match="None has None bytes"):
        check_rows(root, [make_row("r1", n_windows=1)])
