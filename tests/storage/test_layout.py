from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storage.errors import DeapsError
from storage.files import is_temporary, resolve_root, slug, window_path

DIGEST = "0f" * 32
NAMES = st.text(st.characters(codec=None), max_size=300)


def test_a_plain_name_stays_readable() -> None:
    assert window_path("shhs", "shhs1-200001", DIGEST) == (
        f"windows/shhs/shhs1-200001/{DIGEST}.parquet"
    )


@given(NAMES, NAMES)
@example("..", "../../etc/passwd")
@example("/", "a'; DROP TABLE windows; --")
@example(".", "*.parquet")
@example("", "x" * 5000)
@example("\0", "\ud800")
def test_no_name_escapes_the_store_or_is_a_pattern(dataset: str, name: str) -> None:
    path = window_path(dataset, name, DIGEST)
    assert os.path.normpath(path) == path
    assert len(path.split("/")) == 4
    assert not set(path) & set("*?[]{}\\'\"~= ")
    assert all(not part.startswith((".", "-")) and len(part) <= 80 for part in path.split("/"))


@given(NAMES, NAMES)
@example("A1", "a1")
@example("a b", "a-b")
@example("é", "e\u0301")
@example("A", slug("A"))
def test_two_names_never_share_a_file_even_if_case_is_ignored(name: str, other: str) -> None:
    assert name == other or slug(name).lower() != slug(other).lower()


@pytest.mark.parametrize("digest", ["", "xyz", "../" * 4, "AB" * 16])
def test_a_digest_must_be_hexadecimal(digest: str) -> None:
    with pytest.raises(ValueError, match="8 to 64 hexadecimal digits"):
        window_path("ds", "r", digest)


@pytest.mark.parametrize("folder", ["st*re", "st?re", "st[o]re", "st\\ore", "st\nore"])
def test_a_store_whose_path_duckdb_would_expand_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(DeapsError, match="reads as a pattern"):
        resolve_root(tmp_path / folder)


def test_any_other_path_is_a_store_and_becomes_absolute(tmp_path: Path) -> None:
    folder = tmp_path / "it's a = store, #1 {x} ]~é"
    assert resolve_root(folder) == folder.resolve()
    assert resolve_root("store") == Path.cwd() / "store"


def test_only_hidden_tmp_files_count_as_temporary() -> None:
    names = [".x.tmp", ".x.tmp.wal", "x.tmp", ".x", "x.parquet"]
    assert [is_temporary(Path(name)) for name in names] == [True, True, False, False, False]
