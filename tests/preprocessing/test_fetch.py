"""Fetching: right up to the request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import wfdb

from preprocessing.datasets import fetch_dataset as fetch
from storage.errors import DeapsError


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Record what wfdb is asked to download."""
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(wfdb, "dl_database", lambda *args: asked.append(args))
    monkeypatch.setattr(wfdb, "dl_files", lambda *args: asked.append(args))
    monkeypatch.setattr(wfdb, "get_record_list", lambda folder: [f"A00/{folder[-3:]}1"])
    return asked


@pytest.mark.parametrize("name", ["mitdb", "afdb", "afpdb", "ecgiddb"])
def test_wfdb_sets_are_asked_for_by_name(
    tmp_path: Path, requests: list[tuple[Any, ...]], name: str
) -> None:
    fetch(name, tmp_path / "x" / name)
    assert requests == [(name, str(tmp_path / "x" / name))]


def test_challenge_is_fetched_by_file_names(
    tmp_path: Path, requests: list[tuple[Any, ...]]
) -> None:
    fetch("challenge2017", tmp_path)
    training, validation = requests
    assert training[2] == [
        "training/A00/ing1.mat", "training/A00/ing1.hea", "training/REFERENCE-v3.csv",
    ]  # fmt: skip
    assert validation[2][-1] == "validation/REFERENCE.csv"


def test_shhs_tells_the_steps(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match=r"nsrr download shhs/polysomnography/edfs/shhs1"):
        fetch("shhs", tmp_path)


def test_own_files_have_nothing_to_download(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match=r"--set data\.folder="):
        fetch("folder", tmp_path)


def test_unknown_name_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match=r"possible: .*afdb.*mitdb"):
        fetch("mit", tmp_path)
