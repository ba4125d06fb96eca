"""``deaps init``: a table of subjects and a deaps.toml for somebody's own folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from flows.cli import app
from flows.config import load_settings
from flows.init import init_folder
from storage.errors import DeapsError
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run
from tests.planted_identities import traces, write_folder
from tests.user_folder import write_user_folder
from tests.wfdb_files import write_record


def deaps(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(autouse=True)
def _work_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_every_recording_has_a_row_and_the_settings_name_the_folder(tmp_path: Path) -> None:
    for name in ("a.edf", "sub/p1_v2.edf"):
        write_edf(tmp_path / "mine" / name, {"ECG": beats(12)})
    result = deaps("init", "mine")
    assert result.exit_code == 0, result.output
    table = (tmp_path / "mine/subjects.csv").read_text()
    assert table == "file,subject,visit,sex,age\na.edf,,,,\nsub/p1_v2.edf,p1,2,,\n"
    assert load_settings().data.roots() == {"folder": Path("mine")}
    assert "deaps preprocess:" in result.output


def test_files_that_are_there_stay_unless_asked(tmp_path: Path) -> None:
    write_edf(tmp_path / "mine/a.edf", {"ECG": beats(12)})
    kept = {tmp_path / "mine/subjects.csv": "file\na.edf\n", tmp_path / "deaps.toml": "[data]\n"}
    for path, text in kept.items():
        path.write_text(text)
    result = deaps("init", "mine")
    assert {path: path.read_text() for path in kept} == kept
    assert "deaps scan --set data.folder=mine" in result.output
    deaps("init", "mine", "--overwrite")
    assert all(path.read_text() != text for path, text in kept.items())


def test_a_folder_without_recordings_is_refused_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.mat").write_bytes(b"x")
    with pytest.raises(DeapsError, match=r"1 \.mat; a \.mat or \.dat file needs its \.hea header"):
        init_folder(tmp_path)


def test_a_folder_that_cannot_be_written_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_edf(tmp_path / "mine/a.edf", {"ECG": beats(12)})

    def read_only(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("flows.init.replacing", read_only)
    with pytest.raises(DeapsError, match=r"cannot write mine/subjects\.csv \(Permission denied\)"):
        init_folder(Path("mine"))


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two recordings that this process takes for read-only."""
    for name in ("a.edf", "b.edf"):
        write_edf(tmp_path / "theirs" / name, {"ECG": beats(12)})
    access = os.access
    monkeypatch.setattr(
        "flows.init.os.access",
        lambda path, mode: access(path, mode) and (path, mode) != (Path("theirs"), os.W_OK),
    )
    return tmp_path / "theirs"


def test_of_a_read_only_folder_the_table_is_in_the_working_folder(
    tmp_path: Path, read_only: Path
) -> None:
    result = deaps("init", "theirs")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in read_only.iterdir()) == ["a.edf", "b.edf"]
    (tmp_path / "subjects.csv").write_text("file;subject;visit\na;P1;1\nb;P1;2\n")
    settings = load_settings()
    assert settings.cohort.subjects == Path("subjects.csv")
    run(settings)
    people = ask(settings, "SELECT name, subject, visit FROM recordings ORDER BY name")
    assert people == [("a.edf", "P1", 1), ("b.edf", "P1", 2)]


def test_a_changed_table_outside_the_folder_is_read_again(tmp_path: Path, read_only: Path) -> None:
    deaps("init", "theirs")
    settings = load_settings()
    run(settings)
    (tmp_path / "subjects.csv").write_text("file,subject\na,P1\nb,P2\n")
    run(settings)
    assert ask(settings, "SELECT subject FROM recordings ORDER BY name") == [("P1",), ("P2",)]


@pytest.mark.usefixtures("read_only")
def test_a_kept_configuration_gets_its_table_by_an_option(tmp_path: Path) -> None:
    (tmp_path / "deaps.toml").write_text("[data]\n")
    wanted = "deaps scan --set data.folder=theirs --set cohort.subjects=subjects.csv"
    assert wanted in deaps("init", "theirs").output


@pytest.mark.usefixtures("read_only")
def test_a_table_that_is_not_where_the_settings_say_stops_every_command() -> None:
    result = deaps("scan", "--set", "data.folder=theirs", "--set", "cohort.subjects=gone.csv")
    assert result.exit_code == 2
    assert "no table of subjects at gone.csv; change cohort.subjects" in result.output


def test_signal_files_without_a_header_are_named(tmp_path: Path) -> None:
    write_record(tmp_path / "mine", "r1", {"II": beats(12, 360)})
    (tmp_path / "mine/lonely.mat").write_bytes(b"x")
    output = deaps("init", "mine").output
    assert "1 recording below mine: 1 WFDB" in output
    assert ".hea header, which are not read: 1, e.g. lonely.mat" in output


def test_headers_that_name_people_leave_no_trace(tmp_path: Path) -> None:
    write_folder(tmp_path / "mine")
    (tmp_path / "mine/subjects.csv").unlink()
    result = deaps("init", "mine")
    assert traces(result.output) == []
    assert traces((tmp_path / "mine/subjects.csv").read_text()) == []


def test_scan_of_a_folder_that_is_not_there_exits_with_one() -> None:
    result = deaps("scan", "--set", "data.folder=/nowhere")
    assert result.exit_code == 1
    assert "no folder at /nowhere" in result.output


def test_scan_prints_what_it_understood_and_what_not(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write_edf(tmp_path / f"mine/{name}.edf", {"ECG": beats(12)})
    table = "file;subject;visit;sex;age\na;p1;baseline;w;44\nB.EDF;p1;follow-up;2;x\nd;p3;1;M;5\n"
    (tmp_path / "mine/subjects.csv").write_text(table)
    output = deaps("scan", "--set", "data.folder=mine").output
    for text in (
        "3 rows, separated by semicolons",
        "sex: M = male (1); 2, W = female (2)",
        "visits: baseline = 2, follow-up = 3",
        "1 row names no file here, line 4",
        "1 recording has no row and counts as a subject of its own: c.edf",
    ):
        assert text in output


@pytest.mark.real
def test_a_messy_table_of_three_real_formats_is_understood(
    tmp_path: Path, real_data: Callable[[str], Path]
) -> None:
    write_user_folder(tmp_path / "mine", real_data("afpdb").parent)
    deaps("init", "mine")
    settings = load_settings()
    run(settings)
    rows = ask(
        settings,
        "SELECT r.subject, visit, visit_name, sex, age, status FROM recordings r "
        "JOIN subjects USING (dataset, subject, visit) ORDER BY r.subject, visit",
    )
    assert rows[:2] == [
        ("P-01", 1, "Baseline", "female", 63.5, "ok"),
        ("P-01", 2, "6 months", "female", 64.0, "ok"),
    ]
    assert len(rows) == 10
    assert {row[5] for row in rows} == {"ok"}
