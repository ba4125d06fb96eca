"""What names and headers tell of a recording, and what they must not."""

from __future__ import annotations

import datetime
from pathlib import Path

import edfio
import pytest

from preprocessing.user_folder.files import Guess, guess, guess_from_name
from storage.schema import Sex
from tests.edf_files import beats
from tests.wfdb_files import write_record


def write_edf_plus(path: Path, born: datetime.date) -> None:
    edfio.Edf(
        [edfio.EdfSignal(beats(12), 125, label="ECG")],
        patient=edfio.Patient(sex="F", birthdate=born, name="Somebody"),
        recording=edfio.Recording(startdate=datetime.date(2020, 6, 1)),
    ).write(path)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("sub-01/ses-02/sub-01_ses-02_ecg.edf", ("01", "02")),
        ("p01_v2.edf", ("p01", "2")),
        ("p01-Visit03.edf", ("p01", "3")),
        ("Person_07/rec_2.hea", ("Person_07", "2")),
        ("night-1.edf", (None, None)),
        ("A00001.hea", (None, None)),
    ],
)
def test_subject_and_visit_come_from_names_that_say_so(
    path: str, expected: tuple[str | None, str | None]
) -> None:
    assert guess_from_name(path) == expected


def test_an_edf_header_gives_sex_and_age(tmp_path: Path) -> None:
    write_edf_plus(tmp_path / "a.edf", datetime.date(1960, 7, 2))
    assert guess(tmp_path, "a.edf") == Guess(sex=Sex.FEMALE, age=59)


def test_an_age_of_ninety_is_left_out(tmp_path: Path) -> None:
    write_edf_plus(tmp_path / "a.edf", datetime.date(1930, 5, 2))
    assert guess(tmp_path, "a.edf").age is None


@pytest.mark.parametrize("comments", [["69 M 1085 x1"], ["Age: 69", "Sex: male"], ["<age>: 69"]])
def test_a_wfdb_header_gives_sex_and_age(tmp_path: Path, comments: list[str]) -> None:
    write_record(tmp_path, "r", {"II": beats(12, 360)}, comments=comments)
    assert guess(tmp_path, "r.hea").age == 69


def test_a_damaged_header_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.edf").write_bytes(b"\xff" * 100)
    assert guess(tmp_path, "a.edf") == Guess()
