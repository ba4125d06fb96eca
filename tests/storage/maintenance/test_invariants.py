"""Invariants: whole stores keep them, and each planted fault is found under its number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from deaps.evaluation.representations import BASELINES_FOLDER
from storage import RecordingRow, Snapshot
from storage.files import file_sha256, write_digests
from storage.invariants import deep_findings
from storage.windows import write_window_file
from tests.storage.made_store import make_columns, make_row, make_signal, publish_rows


def kinds(root: Path) -> set[str]:
    return {finding.kind for finding in deep_findings(root)}


def edit(root: Path, sql: str) -> None:
    """Change the index as a fault of ours would: with a digest that fits."""
    index = root / "index.duckdb"
    index.chmod(0o644)
    with duckdb.connect(index) as connection:
        connection.execute(sql)
    write_digests(index, [file_sha256(index)])


def test_whole_store_has_no_findings(root: Path, published: Snapshot) -> None:
    assert list(deep_findings(root)) == []


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("DELETE FROM recordings WHERE name = 'a1'", "I4"),
        ("UPDATE recordings SET reason = NULL WHERE status = 'quarantined'", "I4"),
        ("UPDATE recordings SET name = 'a1' WHERE name = 'a2'", "I4"),
        ('DELETE FROM windows WHERE recording_id = 1 AND "row" = 2', "I5"),
        ('UPDATE windows SET flat = NOT flat WHERE recording_id = 1 AND "row" = 2', "I5"),
        ('UPDATE windows SET start_s = 5 WHERE recording_id = 1 AND "row" = 2', "I5"),
    ],
)
def test_index_that_lies_is_found(root: Path, published: Snapshot, sql: str, kind: str) -> None:
    edit(root, sql)
    assert kind in kinds(root)


@pytest.mark.parametrize("fault", ["NaN", "flat", "amplitude"])
def test_window_without_its_flag_is_found(root: Path, fault: str) -> None:
    signal, row = make_signal(4), make_row(std_mv=1.0)
    if fault == "NaN":
        signal[2, 5] = np.nan
    elif fault == "flat":
        signal[2] = 1
    else:
        signal[2, 5], row = 60_000, replace(row, std_mv=1.0)
    path = root / "windows" / "ds" / "r1" / f"{row.digest}.parquet"
    columns = make_columns(4, clipped=np.zeros(4, bool))
    publish_rows(root, [write_window_file(path, columns, signal, row)])
    assert kinds(root) == {"I7"}


def test_changed_file_is_found(root: Path, rows: list[RecordingRow], published: Snapshot) -> None:
    path = root / str(rows[1].path)
    content = bytearray(path.read_bytes())
    content[(rows[1].signal_offset or 0) + 7] ^= 1
    path.write_bytes(content)
    assert "sha256" in kinds(root)


def test_foreign_files_and_links_out_are_found(root: Path, published: Snapshot) -> None:
    (root / "notes.txt").write_text("mine")
    (root / "windows" / "out").symlink_to("/tmp")
    for name in ("store-id", "croissant.json"):
        (root / name).touch()
    (root / BASELINES_FOLDER).mkdir()
    assert [f.path for f in deep_findings(root) if f.kind == "I11"] == ["notes.txt", "windows/out"]
