from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from storage.errors import DeapsError
from storage.files import find_store, read_store_id, store_id
from storage.packages import code_version


def test_a_store_keeps_its_id(tmp_path: Path) -> None:
    first = store_id(tmp_path / "store")
    assert store_id(tmp_path / "store") == first
    assert read_store_id(tmp_path / "store") == first
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["store-id"]


def test_two_stores_have_two_ids(tmp_path: Path) -> None:
    assert store_id(tmp_path / "a") != store_id(tmp_path / "b")


def test_a_store_is_found_where_it_is_mounted_here(tmp_path: Path) -> None:
    wanted = store_id(tmp_path / "there")
    shutil.move(tmp_path / "there", tmp_path / "here")
    store_id(tmp_path / "other")
    roots = (tmp_path / "other", tmp_path / "there", tmp_path / "here")
    assert find_store(wanted, *roots) == tmp_path / "here"


def test_another_store_is_refused_with_both_ids(tmp_path: Path) -> None:
    other = store_id(tmp_path / "store")
    with pytest.raises(DeapsError, match=f"does not see the store abc .*store: {other}"):
        find_store("abc", tmp_path / "store")


def test_the_code_has_a_version_and_a_digest() -> None:
    version, _, digest = code_version().partition("+")
    assert version
    assert len(digest) == 12
