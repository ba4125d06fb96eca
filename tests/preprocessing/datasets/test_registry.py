"""The registry: a data set is one file, and may come from outside the packages."""

from __future__ import annotations

import importlib.metadata
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from flows.ingest.recording import preprocess_recording
from flows.ingest.scan import scan
from preprocessing.datasets import DATASETS, DataSet, register
from preprocessing.datasets.walk import list_files
from preprocessing.recording import FoundRecording, RawRecording
from storage.errors import DeapsError
from storage.schema import Sex, SourceRole, Status
from tests.edf_files import beats
from tests.flows.inline import ask, run, settings_for

FS = 200
HEAVY = ("numpy", "scipy", "mne", "wfdb", "edfio", "sleepecg", "duckdb", "pyarrow", "torch")


class NpyFolder(DataSet):
    """A data set that the packages know nothing of: one .npy file per person."""

    name = "npy"
    label = "Arrays"
    about = "A folder of .npy files at 200 Hz."

    def find(self, root: Path) -> Iterator[FoundRecording]:
        for file in list_files(root):
            stem = file.removesuffix(".npy")
            yield FoundRecording(self.name, stem, stem, 1, ((file, SourceRole.SIGNAL),))

    def read(
        self, root: Path, recording: FoundRecording, channels: tuple[str, ...]
    ) -> RawRecording:
        signal = np.load(root / recording.files[0][0])
        return RawRecording(signal.astype(np.float32), FS, "II", sex=Sex.FEMALE)


class Namesake(NpyFolder):
    """Another data set with the name of the first."""


class WithoutLabel(NpyFolder):
    name = "unlabelled"
    label = ""


class BadName(NpyFolder):
    name = "My Data"


@pytest.fixture
def _registry_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back what a test registers."""
    monkeypatch.setattr(DATASETS, "_datasets", dict(DATASETS))
    monkeypatch.setattr(DATASETS, "_pending", [])


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch, _registry_restored: None) -> Callable[[str, str], None]:
    """Return a function that has an installed package offer a data set under a name."""

    def offered(name: str, value: str) -> None:
        point = EntryPoint(name, value, "deaps.datasets")
        monkeypatch.setattr(
            importlib.metadata,
            "entry_points",
            lambda *, group: [point] if group == "deaps.datasets" else [],
        )
        monkeypatch.setattr(DATASETS, "_pending", [DATASETS._load_installed])

    return offered


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    """Two people, 31 s and 45 s."""
    root = tmp_path / "arrays"
    root.mkdir()
    for name, seconds in (("ann", 31), ("bob", 45)):
        np.save(root / f"{name}.npy", beats(seconds, FS, seed=seconds))
        os.utime(root / f"{name}.npy", (1e9, 1e9))  # a file just written is hashed once more
    return root


def published(tmp_path: Path, arrays: Path) -> list[tuple[object, ...]]:
    settings = settings_for(tmp_path / "store", npy=arrays)
    run(settings)
    counted = ask(
        settings,
        "SELECT r.dataset, r.name, r.sex, r.channel, count(*) FROM windows w "
        "JOIN recordings r USING (recording_id) GROUP BY ALL ORDER BY ALL",
    )
    assert not scan(settings).todo()
    return counted


ROWS = [("npy", "ann", "female", "II", 3), ("npy", "bob", "female", "II", 4)]


@pytest.mark.usefixtures("_registry_restored")
def test_registered_data_set_becomes_rows_of_the_index(tmp_path: Path, arrays: Path) -> None:
    register(NpyFolder())
    assert published(tmp_path, arrays) == ROWS


@pytest.mark.parametrize("value", [f"{__name__}:NpyFolder", f"{__name__}:INSTANCE"])
def test_data_set_of_an_installed_package_becomes_rows_of_the_index(
    tmp_path: Path, arrays: Path, offer: Callable[[str, str], None], value: str
) -> None:
    offer("npy", value)
    assert published(tmp_path, arrays) == ROWS


INSTANCE = NpyFolder()


def test_entry_point_may_name_a_module_that_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offer: Callable[[str, str], None]
) -> None:
    (tmp_path / "offering.py").write_text(
        "from preprocessing.datasets import register\n"
        f"from {__name__} import NpyFolder\n"
        "register(NpyFolder())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    offer("npy", "offering")
    assert isinstance(DATASETS["npy"], NpyFolder)


@pytest.mark.usefixtures("_registry_restored")
def test_another_process_reads_a_registered_data_set(tmp_path: Path, arrays: Path) -> None:
    register(NpyFolder())
    found = scan(settings_for(tmp_path / "store", npy=arrays))
    job, recording = found.todo()[0]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as worker:
        row = worker.submit(preprocess_recording, job, recording).result()
    assert (row.status, row.n_windows) == (Status.OK, 3)


@pytest.mark.usefixtures("_registry_restored")
def test_misspelt_name_suggests_a_data_set_from_outside(tmp_path: Path) -> None:
    register(NpyFolder())
    with pytest.raises(DeapsError, match=r"unknown setting 'data\.npi': did you mean 'npy'"):
        settings_for(tmp_path / "store", npi=tmp_path)


def test_unregistered_name_is_refused_as_a_root(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match=r"unknown setting 'data\.npy'"):
        settings_for(tmp_path / "store", npy=tmp_path)


def test_without_any_root_every_data_set_is_described(tmp_path: Path) -> None:
    with pytest.raises(DeapsError, match=r"data\.shhs: Sleep Heart Health Study"):
        scan(settings_for(tmp_path / "store"))


def test_broken_package_is_named(offer: Callable[[str, str], None]) -> None:
    offer("npy", "no_such_package:Npy")
    with pytest.raises(DeapsError, match=r"'npy' .*no_such_package:Npy .*ModuleNotFoundError"):
        len(DATASETS)
    with pytest.raises(DeapsError):  # not only the first time
        len(DATASETS)


def test_entry_point_must_bring_a_data_set_of_its_name(offer: Callable[[str, str], None]) -> None:
    offer("arrays", f"{__name__}:NpyFolder")
    with pytest.raises(DeapsError, match="registers none of that name"):
        len(DATASETS)


@pytest.mark.usefixtures("_registry_restored")
@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (Namesake(), r"'npy' of .*Namesake has the name of .*NpyFolder"),
        (WithoutLabel(), "label is ''"),
        (BadName(), "name is 'My Data'"),
        (3, "is no instance of"),
    ],
)
def test_unusable_data_sets_are_refused(dataset: DataSet, message: str) -> None:
    register(NpyFolder())
    with pytest.raises(DeapsError, match=message):
        register(dataset)


@pytest.mark.usefixtures("_registry_restored")
def test_a_data_set_may_be_registered_again() -> None:
    register(NpyFolder())
    register(again := NpyFolder())
    assert DATASETS["npy"] is again


def test_the_packages_own_data_sets_have_their_labels() -> None:
    assert {name: dataset.label for name, dataset in DATASETS.items()} == {
        "afdb": "MIT-AFIB",
        "afpdb": "PAF Prediction (AFPDB)",
        "challenge2017": "Challenge 2017",
        "cpsc2021": "CPSC 2021",
        "ecgiddb": "ECG-ID",
        "folder": "Own files",
        "mitdb": "MIT-ARR",
        "shhs": "SHHS",
        "slpdb": "MIT-BIH Polysomnographic",
    }


def test_listing_data_sets_imports_no_heavy_library() -> None:
    code = (
        "import sys; from flows.cli import app; from flows.config import load_settings\n"
        "load_settings(overrides=['data.mitdb=/x'])\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
