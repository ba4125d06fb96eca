"""A store's Croissant file: valid, and windows can be read by it."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import mlcroissant
import numpy as np
import pytest

from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from storage.croissant import write_croissant
from storage.errors import DeapsError
from storage.files import SYNTHETIC_NAME
from storage.snapshot import open_index
from storage.window_store import WindowStore
from storage.windows import window_schema
from tests.flows.inline import run, settings_for

pytestmark = pytest.mark.filterwarnings("default")  # those of mlcroissant


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("croissant")
    settings = SynthSettings(mitdb_records=2, mitdb_minutes=1.0)
    root = DATASETS["mitdb"].write(folder / "mitdb", settings)
    (root / SYNTHETIC_NAME).touch()
    run(settings_for(folder / "store", mitdb=root))
    return folder / "store"


@pytest.fixture(scope="module")
def path(store: Path) -> Path:
    return write_croissant(store, labels={"mitdb": "MIT-ARR"})


def test_mlcroissant_has_neither_an_error_nor_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        dataset = mlcroissant.Dataset(path)
    assert dataset.metadata.issues.errors == set()
    assert dataset.metadata.issues.warnings == set()
    assert [record.message for record in caplog.records if "WARNING" in record.message] == []


def test_every_window_is_read_with_its_samples(path: Path, store: Path) -> None:
    records = list(mlcroissant.Dataset(path).records("windows"))
    with open_index(store) as index:
        rows = index.execute(
            'SELECT recording_id, "row", path FROM windows JOIN recordings USING (recording_id)'
        ).fetchall()
    assert len(records) == len(rows) > 0
    by_place = {(r["windows/file"].decode()[-60:], r["windows/row"]): r for r in records}
    recording_id, row, file = rows[-1]
    read = by_place[file[-60:], row]["windows/signal"]
    stored = WindowStore(store).read([recording_id], [row])[0]
    np.testing.assert_array_equal(np.asarray(read, np.float32), stored)


def test_every_column_of_a_window_file_has_a_field_with_a_description(path: Path) -> None:
    (windows,) = json.loads(path.read_text())["recordSet"]
    fields = {field["name"]: field["description"] for field in windows["field"]}
    assert set(fields) == {"file", *window_schema().names}
    assert [name for name, text in fields.items() if text in ("", name)] == []


def test_synthetic_data_are_said_to_be_so_by_the_names_that_people_know(path: Path) -> None:
    metadata = json.loads(path.read_text())
    assert "Synthetic, no person was recorded: MIT-ARR." in metadata["description"]
    assert "synthetic" in metadata["keywords"]


def test_no_recording_is_named(path: Path, store: Path) -> None:
    with open_index(store) as index:
        names = [name for (name,) in index.execute("SELECT name FROM recordings").fetchall()]
    text = path.read_text()
    assert names
    assert [name for name in names if f"/{name}" in text or f'"{name}"' in text] == []


def test_a_store_without_an_index_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match="run deaps preprocess"):
        write_croissant(tmp_path)
