"""The view `passed_windows` and the gate's own predicate say the same."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from preprocessing.chain import Gate
from storage.schema import GATE_FLAGS
from storage.snapshot import open_index
from tests.storage.made_store import make_row, publish_rows, write_recording

CASES = np.array(np.meshgrid(*[[False, True]] * len(GATE_FLAGS))).reshape(len(GATE_FLAGS), -1)
"""Every combination of faults, one window each."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    flags = dict(zip(GATE_FLAGS, CASES, strict=True))
    row = write_recording(tmp_path, make_row("r"), CASES.shape[1], **flags)
    publish_rows(tmp_path, [row])
    return tmp_path


def rejected() -> list[int]:
    return np.flatnonzero(Gate(*CASES).rejected).tolist()


def left_out(index: duckdb.DuckDBPyConnection) -> list[int]:
    sql = 'SELECT "row" FROM windows EXCEPT SELECT "row" FROM passed_windows ORDER BY ALL'
    return [row for (row,) in index.execute(sql).fetchall()]


def test_any_fault_rejects_a_window() -> None:
    assert Gate(*CASES).rejected.tolist() == CASES.any(axis=0).tolist()


def test_view_leaves_out_what_the_gate_rejects(root: Path) -> None:
    with duckdb.connect(root / "index.duckdb", read_only=True) as index:
        assert left_out(index) == rejected()


def test_index_from_before_the_view_has_it_when_it_is_opened(root: Path) -> None:
    with duckdb.connect(root / "index.duckdb") as older:
        older.execute("DROP VIEW passed_windows")
    (root / "index.duckdb.sha256").unlink()  # it is not the published one any more
    with open_index(root) as index:
        assert left_out(index) == rejected()
