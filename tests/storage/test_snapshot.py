from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from storage import Snapshot, load_published, open_index, published_sources
from storage.snapshot import IndexMissingError, IndexVersionError, hide_progress, read_snapshot


def test_a_missing_index_says_what_to_do(root: Path) -> None:
    with pytest.raises(IndexMissingError, match=rf"no index at {root}/index.duckdb; run deaps pre"):
        open_index(root)
    assert load_published(root) is None
    assert published_sources(root) == {}


@pytest.mark.parametrize("sql", ["SELECT 99 AS schema_version", "SELECT 1 AS other"])
def test_an_index_of_another_version_is_refused(root: Path, sql: str) -> None:
    root.mkdir()
    with duckdb.connect(root / "index.duckdb") as foreign:
        foreign.execute(f"CREATE TABLE snapshot AS {sql}")
    with pytest.raises(IndexVersionError, match=r"schema version (99|none); this program reads 2"):
        open_index(root)
    with pytest.raises(IndexVersionError, match=r"another store\.root"):
        load_published(root)


def test_a_file_that_is_no_database_is_refused(root: Path) -> None:
    root.mkdir()
    (root / "index.duckdb").write_bytes(b"x" * 10_000)
    with pytest.raises(IndexVersionError, match="cannot be opened as an index"):
        open_index(root)


def test_root_and_file_open_the_same_index(root: Path, published: Snapshot) -> None:
    for given in (root, root / "index.duckdb", str(root)):
        with open_index(given) as index:
            rows = index.execute("SELECT snapshot_id FROM snapshot").fetchall()
        assert rows == [(published.snapshot_id,)]


def test_the_index_cannot_be_changed(root: Path, published: Snapshot) -> None:
    with open_index(root) as index, pytest.raises(duckdb.InvalidInputException):
        index.execute("DELETE FROM windows")


def test_a_snapshot_reads_back_as_published(root: Path, published: Snapshot) -> None:
    with open_index(root) as index:
        read = read_snapshot(index)
    assert {name: getattr(read, name) for name in Snapshot.__slots__ if name != "rebuilt"} == {
        name: getattr(published, name) for name in Snapshot.__slots__ if name != "rebuilt"
    }


def test_importing_the_package_loads_none_of_the_heavy_ones() -> None:
    code = (
        "import sys, storage\n"
        "print(sorted({'numpy', 'duckdb', 'pyarrow', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_exported_name_is_there() -> None:
    import storage

    assert all(hasattr(storage, name) for name in storage.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        storage.nothing  # noqa: B018


def test_a_notebook_that_cannot_draw_a_progress_bar_can_still_ask() -> None:
    class Refusing:
        """A connection in a notebook without ipywidgets."""

        def execute(self, sql: str) -> None:
            raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")

    hide_progress(Refusing())  # type: ignore[arg-type]
