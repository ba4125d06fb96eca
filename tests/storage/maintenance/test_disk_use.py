from __future__ import annotations

from pathlib import Path

import pytest

from storage.maintenance import disk_use


def test_parts_are_the_index_the_folders_and_the_rest(tmp_path: Path) -> None:
    (tmp_path / "windows/shhs").mkdir(parents=True)
    (tmp_path / "windows/shhs/a.parquet").write_bytes(b"x" * 100)
    (tmp_path / "index.duckdb").write_bytes(b"x" * 10)
    (tmp_path / ".lock").write_bytes(b"x")
    (tmp_path / "zebra").mkdir()
    parts = {"index": 10, "windows": 100, "zebra": 0, "other": 1}
    assert list(disk_use(tmp_path).items()) == list(parts.items())


@pytest.mark.parametrize("runs", [["r1"], ["r1", "r2"]])
def test_index_that_runs_have_linked_is_counted_once(tmp_path: Path, runs: list[str]) -> None:
    (tmp_path / "index.duckdb").write_bytes(b"x" * 10)
    for name in runs:
        link = tmp_path / "runs" / name / "index.duckdb"
        link.parent.mkdir(parents=True)
        link.hardlink_to(tmp_path / "index.duckdb")
    assert disk_use(tmp_path) == {"index": 10, "runs": 0}


def test_links_that_lead_out_of_the_store_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/big").write_bytes(b"x" * 1000)
    (tmp_path / "store/windows").mkdir(parents=True)
    (tmp_path / "store/windows/link").symlink_to(tmp_path / "elsewhere")
    assert disk_use(tmp_path / "store")["windows"] < 1000
