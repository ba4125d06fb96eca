"""Columns of the cohorts' tables in the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.ingest.scan import scan
from preprocessing.config import SynthSettings
from preprocessing.datasets.folder import Folder
from preprocessing.recording import FoundRecording
from preprocessing.synth import DATASETS
from storage.errors import DeapsError
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, one, run, settings_for, todo


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohort")
    return DATASETS["shhs"].write(folder / "shhs", SynthSettings(shhs_subjects=2, shhs_hours=0.02))


def columns(*names: str) -> str:
    return f"cohort.columns={list(names)}".replace("'", '"')


def test_named_variables_of_both_visits_and_the_harmonised_table_are_columns(
    data: Path, tmp_path: Path
) -> None:
    names = ("bmi_s1", "bmi_s2", "hrqual", "nsrr_bmi")
    settings = settings_for(tmp_path / "store", columns(*names), shhs=data)
    run(settings)
    first, second = ask(settings, "FROM subjects WHERE subject = '200001' ORDER BY visit")
    assert first[:3] == ("shhs", "200001", 1)
    assert first[3] == first[6]
    assert first[4] is None
    assert second[3] is None
    assert second[4] == second[6]
    assert first[5] in range(1, 6)


def test_another_choice_of_columns_redoes_no_recording(data: Path, tmp_path: Path) -> None:
    run(settings_for(tmp_path / "store", shhs=data))
    settings = settings_for(tmp_path / "store", columns("bmi_s1"), shhs=data)
    run(settings)
    assert one(settings, "SELECT count(bmi_s1) FROM subjects") == 2
    run(settings_for(tmp_path / "store", shhs=data))
    assert one(settings, "SELECT count(*) FROM (DESCRIBE subjects)") == 3


def test_an_unknown_variable_stops_before_any_work(data: Path, tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "store", columns("bmi"), shhs=data)
    with pytest.raises(DeapsError, match=r"no table of shhs has; did you mean 'bmi_s.'"):
        todo(settings)
    absent = settings_for(
        tmp_path / "store", columns("bmi"), shhs=data, folder=tmp_path / "nowhere"
    )
    assert todo(absent)


@pytest.mark.parametrize("name", ["pptid", "first_name", "dob", "visit_date", "comment", "a b"])
def test_what_may_identify_people_is_refused(data: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(DeapsError, match=r"cohort\.columns has"):
        todo(settings_for(tmp_path / "store", columns(name), shhs=data))


def test_a_table_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "own"
    write_edf(data / "a.edf", {"ECG": beats(40)})
    table = data / "subjects.csv"
    table.write_text("file,subject\na.edf,first\n")
    settings = settings_for(tmp_path / "store", folder=data)
    find = Folder.find

    def find_and_change(reader: Folder, root: Path) -> list[FoundRecording]:
        found = list(find(reader, root))
        table.write_text("file,subject\na.edf,second\n")
        return found

    monkeypatch.setattr(Folder, "find", find_and_change)
    run(settings)
    monkeypatch.undo()
    assert scan(settings).datasets[0].tables_changed
    run(settings)
    assert ask(settings, "SELECT subject FROM recordings") == [("second",)]
    assert not scan(settings).datasets[0].tables_changed


def test_free_text_in_a_column_is_left_out(tmp_path: Path) -> None:
    data = tmp_path / "own"
    write_edf(data / "a.edf", {"ECG": beats(20)})
    (data / "subjects.csv").write_text(
        "file,subject,visit,sex,age,drug,dose\na.edf,p1,1,F,60,ask Mr Smith about it,2.5\n"
    )
    settings = settings_for(tmp_path / "store", columns("drug", "dose"), folder=data)
    run(settings)
    assert ask(settings, "FROM subjects") == [("folder", "p1", 1, 2.5, None)]
    warnings = one(settings, "SELECT warnings FROM datasets")
    assert "subjects.csv: 1 values of drug are free text: left out" in warnings
