"""SHHS: the tree of EDFs, and cohort tables that are never quite as described."""

from __future__ import annotations

from pathlib import Path

import pytest

from preprocessing.cohort import parse_age, parse_sex
from preprocessing.datasets import DATASETS
from preprocessing.recording import Facts
from storage.schema import Sex
from tests.edf_files import beats, write_edf

SHHS = DATASETS["shhs"]
ALIASES = ("ECG", "EKG")


def edf_path(root: Path, visit: int, name: str) -> Path:
    return root / "polysomnography" / "edfs" / f"shhs{visit}" / name


def table(root: Path, name: str, text: str, encoding: str = "cp1252") -> None:
    path = root / "datasets" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for visit, subject in ((1, 200001), (2, 200001), (1, 200002)):
        path = edf_path(tmp_path, visit, f"shhs{visit}-{subject}.edf")
        write_edf(path, {"EEG": beats(12), "ECG": beats(12)})
    return tmp_path


def test_subject_and_visit_come_from_the_file_name(root: Path) -> None:
    found = [(r.name, r.subject, r.visit) for r in SHHS.find(root)]
    assert found == [
        ("shhs1-200001", "200001", 1),
        ("shhs1-200002", "200002", 1),
        ("shhs2-200001", "200001", 2),
    ]


def test_find_opens_no_file(root: Path) -> None:
    for path in root.rglob("*.edf"):
        path.chmod(0)
    assert len(list(SHHS.find(root))) == 3


def test_root_may_be_the_folder_of_edfs(root: Path) -> None:
    assert len(list(SHHS.find(root / "polysomnography" / "edfs"))) == 3


def test_file_with_an_odd_name_is_a_subject_of_its_own(root: Path) -> None:
    name = 'it\'s "odd"; DROP TABLE windows.edf'
    write_edf(edf_path(root, 2, name), {"ECG": beats(12)})
    odd = next(r for r in SHHS.find(root) if r.name == name.removesuffix(".edf"))
    assert (odd.subject, odd.visit) == (odd.name, 2)
    assert SHHS.read(root, odd, ALIASES).channel == "ECG"


@pytest.mark.parametrize(
    ("text", "sex"),
    [("1", "male"), ("2", "female"), ("01", "male"), ("1.0", "male"), ("", None), (None, None),
     ("Female", "female"), ("m", "male"), ("7", None), ("0", None)],
)  # fmt: skip
def test_sex_codes(text: str | None, sex: str | None) -> None:
    assert parse_sex(text) == sex


@pytest.mark.parametrize(
    ("text", "age"), [("63", 63), ("63.5", 63.5), ("", None), ("-9", None), ("old", None)]
)
def test_ages(text: str, age: float | None) -> None:
    assert parse_age(text) == age


def test_facts_come_from_the_visits_table(root: Path) -> None:
    table(root, "shhs1-dataset-0.20.0.csv", "nsrrid,gender,age_s1,site\n200001,2,61,café\n")
    table(root, "shhs2-dataset-0.20.0.csv", "nsrrid,gender,age_s2\n200001,2,66\n200009,1,70\n")
    tables = SHHS.tables(root)
    assert tables.facts["shhs1-200001"] == Facts(Sex.FEMALE, 61)
    assert tables.facts["shhs2-200001"] == Facts(Sex.FEMALE, 66)
    assert tables.warnings == ()


def test_harmonised_table_fills_what_is_empty(root: Path) -> None:
    table(root, "shhs1-dataset-0.20.0.csv", "nsrrid,gender,age_s1\n200001,,61\n")
    table(root, "shhs2-dataset-0.20.0.csv", "nsrrid,gender,age_s2\n")
    harmonised = "nsrrid,visitnumber,nsrr_sex,nsrr_age\n200001,1,male,60\n200001,2,male,65\n"
    table(root, "shhs-harmonized-dataset-0.20.0.csv", harmonised)
    facts = SHHS.tables(root).facts
    assert facts["shhs1-200001"] == Facts(Sex.MALE, 61)
    assert facts["shhs2-200001"] == Facts(Sex.MALE, 65)


def test_missing_column_is_a_warning_and_leaves_the_rest(root: Path) -> None:
    table(root, "shhs1-dataset-0.20.0.csv", "nsrrid,age_s1\n200001,61\n")
    tables = SHHS.tables(root)
    assert tables.facts["shhs1-200001"] == Facts(None, 61)
    assert "shhs1-dataset-0.20.0.csv: no column 'gender'" in tables.warnings


def test_table_in_utf16_is_a_warning(root: Path) -> None:
    table(root, "shhs1-dataset-0.20.0.csv", "nsrrid,gender,age_s1\n200001,1,61\n", "utf-16")
    tables = SHHS.tables(root)
    assert tables.facts == {}
    assert any("not a cp1252 text file" in warning for warning in tables.warnings)


def test_missing_tables_are_warnings(root: Path) -> None:
    assert len(SHHS.tables(root).warnings) == 2


def test_newest_table_is_read(root: Path) -> None:
    table(root, "shhs1-dataset-0.9.0.csv", "nsrrid,gender,age_s1\n200001,1,1\n")
    table(root, "shhs1-dataset-0.20.0.csv", "nsrrid,gender,age_s1\n200001,1,61\n")
    assert SHHS.tables(root).facts["shhs1-200001"].age == 61
