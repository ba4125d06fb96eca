"""The summary of a store, as the terminal shows it."""

from __future__ import annotations

from pathlib import Path

from flows.ingest.summary import dataset_rows, summarise
from storage.files import SYNTHETIC_NAME
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for


def names_shown(tmp_path: Path) -> list[str]:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(35)})
    run(settings_for(tmp_path / "store", folder=tmp_path / "data"))
    return [row["data set"] for row in dataset_rows(summarise(tmp_path / "store"))]


def test_a_data_set_that_was_made_is_called_synthetic(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / SYNTHETIC_NAME).touch()
    assert names_shown(tmp_path) == ["folder (synthetic)"]


def test_recordings_of_people_are_not(tmp_path: Path) -> None:
    assert names_shown(tmp_path) == ["folder"]
