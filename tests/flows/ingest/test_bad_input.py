"""Every kind of bad input: what it gets, why, and that nothing else is lost."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flows.config import Settings
from flows.ingest.recording import Job, preprocess_recording, reason
from flows.ingest.scan import scan
from flows.ingest.summary import problem_rows, summarise
from preprocessing.datasets import DATASETS
from preprocessing.recording import UnreadableRecordingError
from storage.errors import DeapsError
from storage.maintenance import check_store
from storage.schema import Status
from tests.edf_files import (
    MAGIC,
    RECORD_COUNT,
    START_DATE,
    beats,
    patch,
    physical_fields,
    signal_field,
    write_edf,
)
from tests.flows.inline import ask, one, run, settings_for
from tests.wfdb_files import write_record

Spoil = Callable[[Path], object]
GOOD = "shhs1-200001"
BAD = "shhs1-200002"


def edf(root: Path, name: str) -> Path:
    return root / "polysomnography" / "edfs" / "shhs1" / f"{name}.edf"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for seed, name in enumerate((GOOD, BAD)):
        write_edf(edf(tmp_path / "shhs", name), {"EEG": beats(45), "ECG": beats(45, seed=seed)})
    return tmp_path / "shhs"


@pytest.fixture
def settings(root: Path) -> Settings:
    return settings_for(root.parent / "store", shhs=root)


def recording(settings: Settings, name: str = BAD) -> dict[str, object]:
    columns = ("status", "reason", "n_windows", "truncated", "notes")
    sql = f"SELECT {', '.join(columns)} FROM recordings WHERE name = '{name}'"
    return dict(zip(columns, ask(settings, sql)[0], strict=True))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-6077])


def no_calibration(path: Path) -> None:
    for field in physical_fields(2, 1):
        patch(path, field, "0")


def with_channels(labels: str, seconds: float = 45) -> Spoil:
    return lambda path: write_edf(path, {x: beats(seconds, seed=7) for x in labels.split(",")})


QUARANTINED: dict[str, tuple[Spoil, str]] = {
    "no ECG channel": (with_channels("EEG,SaO2"), "no ECG channel: channels are EEG, SaO2"),
    "zero length": (lambda path: path.write_bytes(b""), "zero length"),
    "header alone": (lambda path: path.write_bytes(path.read_bytes()[:768]), "zero length"),
    "wrong magic": (lambda path: patch(path, MAGIC, "RIFFWAVE"), "not an EDF file"),
    "no calibration": (no_calibration, "physical minimum = maximum"),
    "duplicate": (
        lambda path: shutil.copy(path.with_name(f"{GOOD}.edf"), path),
        f"duplicate of {GOOD}",
    ),
}


def rate_of(samples: int, seconds: int) -> Spoil:
    """Return what rewrites the header so that a record has few samples or lasts for years."""

    def spoil(path: Path) -> None:
        write_edf(path, {"ECG": beats(45)})
        patch(path, slice(244, 252), str(seconds))
        patch(path, signal_field(1, 0, 216, 8), str(samples))

    return spoil


QUARANTINED |= {
    "absurdly slow": (rate_of(1, 1000), "sampling rate"),
    "absurdly long": (rate_of(125, 99999999), "sampling rate"),
}


@pytest.mark.parametrize(("spoil", "why"), QUARANTINED.values(), ids=QUARANTINED.keys())
def test_quarantined_with_a_reason(settings: Settings, root: Path, spoil: Spoil, why: str) -> None:
    spoil(edf(root, BAD))
    run(settings)
    bad = recording(settings)
    assert bad["status"] == "quarantined"
    assert str(bad["reason"]).startswith(why)
    assert one(settings, "SELECT count(*) FROM windows") == 4
    assert why.split(":")[0] in str(problem_rows(summarise(settings.store.root)))


FLAGGED: dict[str, tuple[Spoil, dict[str, object]]] = {
    "truncated": (truncate, {"truncated": True, "n_windows": 3}),
    "record count -1": (lambda path: patch(path, RECORD_COUNT, "-1"), {"n_windows": 4}),
    "date 00.00.00": (lambda path: patch(path, START_DATE, "00.00.00"), {"n_windows": 4}),
    "two ECG channels": (
        with_channels("EKG,ECG"),
        {"notes": ["2 ECG channels (EKG, ECG); read ECG"], "n_windows": 4},
    ),
    "9 s": (with_channels("ECG", 9), {"n_windows": 0}),
}


@pytest.mark.parametrize(("spoil", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_read_and_flagged(
    settings: Settings, root: Path, spoil: Spoil, expected: dict[str, object]
) -> None:
    spoil(edf(root, BAD))
    run(settings)
    bad = recording(settings)
    assert (bad["status"], bad["reason"]) == ("ok", None)
    assert {key: bad[key] for key in expected} == expected
    assert recording(settings, GOOD)["n_windows"] == 4


def test_constant_stretch_is_gated_and_status_is_ok(settings: Settings, root: Path) -> None:
    signal = beats(45, seed=7)
    signal[1250:2500] = 0.25
    write_edf(edf(root, BAD), {"ECG": signal})
    run(settings)
    sql = f"""SELECT row, quality, quality3, flat FROM windows JOIN recordings USING (recording_id)
              WHERE name = '{BAD}' AND flat"""
    assert ask(settings, sql) == [(1, "Unacceptable", "Unacceptable", True)]
    assert recording(settings)["status"] == "ok"


def test_constant_recording_is_gated_throughout(settings: Settings, root: Path) -> None:
    write_edf(edf(root, BAD), {"ECG": np.full(45 * 125, 1.0)})
    run(settings)
    sql = f"""SELECT bool_and(flat) FROM windows JOIN recordings USING (recording_id)
              WHERE name = '{BAD}'"""
    assert one(settings, sql) is True


def test_nan_is_gated_and_status_is_ok(tmp_path: Path) -> None:
    signal = beats(45, 128)
    signal[2 * 1280 + 5] = np.nan
    write_record(tmp_path / "afpdb", "n01", {"ECG0": signal}, fs=128, fmt="16")
    settings = settings_for(tmp_path / "store", afpdb=tmp_path / "afpdb")
    run(settings)
    assert ask(settings, "SELECT row FROM windows WHERE nonfinite") == [(2,)]
    assert one(settings, "SELECT status FROM recordings") == "ok"


def test_header_without_dat_and_short_dat(tmp_path: Path) -> None:
    for seed, name in enumerate(("100", "101", "102")):
        write_record(tmp_path / "mitdb", name, {"MLII": beats(45, 360, seed=seed)})
    (tmp_path / "mitdb" / "101.dat").unlink()
    dat = tmp_path / "mitdb" / "102.dat"
    dat.write_bytes(dat.read_bytes()[: int(360 * 35 * 1.5)])
    settings = settings_for(tmp_path / "store", mitdb=tmp_path / "mitdb")
    run(settings)
    sql = "SELECT name, status, reason, truncated, n_windows FROM recordings ORDER BY name"
    assert ask(settings, sql) == [
        ("100", "ok", None, False, 4),
        ("101", "quarantined", "header without its signal file: 101.dat", False, 0),
        ("102", "ok", None, True, 3),
    ]


def test_unknown_label_is_null_and_counted(tmp_path: Path) -> None:
    write_record(
        tmp_path / "mitdb", "100", {"MLII": beats(45, 360)}, rhythms={0: "N", 7200: "WHAT"}
    )
    settings = settings_for(tmp_path / "store", mitdb=tmp_path / "mitdb")
    run(settings)
    assert ask(settings, "SELECT rhythm FROM windows ORDER BY row") == [
        ("N",), ("N",), (None,), (None,),
    ]  # fmt: skip
    assert "unknown rhythm (1x)" in str(problem_rows(summarise(settings.store.root)))


@pytest.mark.parametrize(
    ("text", "encoding", "warning"),
    [
        ("nsrrid,age_s1\n200001,60\n", "cp1252", "no column 'gender'"),
        ("nsrrid,gender,age_s1\n200001,1,60\n", "utf-16", "not a cp1252 text file"),
    ],
)
def test_cohort_table_that_cannot_be_used_is_a_warning(
    settings: Settings, root: Path, text: str, encoding: str, warning: str
) -> None:
    (root / "datasets").mkdir()
    (root / "datasets/shhs1-dataset-0.20.0.csv").write_bytes(text.encode(encoding))
    run(settings)
    assert one(settings, f"SELECT sex FROM recordings WHERE name = '{GOOD}'") is None
    assert warning in str(one(settings, "SELECT warnings FROM datasets"))


def test_file_that_vanishes_between_scan_and_read(settings: Settings, root: Path) -> None:
    job, gone = scan(settings).todo()[1]
    edf(root, BAD).unlink()
    row = preprocess_recording(job, gone)
    assert (row.status, row.reason) == (Status.QUARANTINED, "file vanished between scan and read")


ODD_NAMES = [
    "with space",
    "quo'te\"s",
    "'; DROP TABLE windows; --",
    "..",
    "...",
    "*?[a]",
    "-rf",
    "ünïcode \u202e",
    "n" * 200,
    "UPPER",
    "upper",
]


def test_odd_names_are_read_under_safe_paths(tmp_path: Path) -> None:
    for seed, name in enumerate(ODD_NAMES):
        write_edf(tmp_path / "data" / f"{name}.edf", {"ECG": beats(12, seed=seed)})
    outside = sorted(tmp_path.iterdir())
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    names = {name for (name,) in ask(settings, "SELECT name FROM recordings WHERE status = 'ok'")}
    assert names == {f"{name}.edf" for name in ODD_NAMES}
    assert one(settings, "SELECT count(*) FROM windows_with_signal") == len(ODD_NAMES)
    assert sorted(tmp_path.iterdir()) == sorted([*outside, tmp_path / "store"])


def test_name_that_is_not_utf8_is_read_under_its_escapes(tmp_path: Path) -> None:
    path = write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(12)})
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/caf\xe9.edf"))
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    assert ask(settings, "SELECT name, n_windows FROM recordings") == [("caf\\xe9.edf", 1)]
    assert ask(settings, "SELECT path FROM sources") == [("caf\\xe9.edf",)]


def test_name_in_the_table_that_leaves_the_folder_names_nothing(tmp_path: Path) -> None:
    write_edf(tmp_path / "secret.edf", {"ECG": beats(12)})
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(12, seed=1)})
    (tmp_path / "data" / "subjects.csv").write_text(
        "file,subject,visit,sex,age\n../secret.edf,x,1,F,3\na.edf,../../y,1,F,3\n"
    )
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    assert ask(settings, "SELECT name, subject FROM recordings") == [("a.edf", "../../y")]


def test_any_error_of_a_reader_concerns_its_file_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = DATASETS["shhs"].read

    def fail(root: Path, found: object, channels: tuple[str, ...]) -> object:
        if BAD in str(found):
            raise ZeroDivisionError("surprise")
        return read(root, found, channels)  # type: ignore[arg-type]

    monkeypatch.setattr(DATASETS["shhs"], "read", fail)
    run(settings)
    assert str(recording(settings)["reason"]).startswith("damaged: ")
    assert recording(settings, GOOD)["status"] == "ok"


def test_error_of_writing_is_not_the_recordings_fault(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flows.ingest.recording.write_window_file", full)
    with pytest.raises(OSError, match="No space left"):
        run(settings)


def test_reasons_are_words() -> None:
    assert reason(PermissionError(13, "x")) == "no permission to read the file"
    assert reason(MemoryError()) == "not enough memory to read the file"
    assert "quote" not in reason(ValueError("may quote a header"))
    assert len(reason(UnreadableRecordingError("x" * 1000))) == 300


def test_job_settings_hold_no_paths(settings: Settings, root: Path) -> None:
    job: Job = scan(settings).todo()[0][0]
    assert str(root) not in str(job.settings())


def test_duplicate_without_windows_comes_back_when_the_first_goes(
    settings: Settings, root: Path
) -> None:
    for name in (GOOD, BAD):
        write_edf(edf(root, name), {"ECG": beats(9)})
    run(settings)
    assert recording(settings)["reason"] == f"duplicate of {GOOD}"
    edf(root, GOOD).unlink()
    run(settings)
    assert recording(settings)["status"] == "ok"


def test_facts_go_with_their_table(tmp_path: Path) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(12)})
    table = tmp_path / "data" / "subjects.csv"
    table.write_text("file,subject,visit,sex,age\na.edf,anna,2.0,F,44\n")
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    facts = "SELECT subject, visit, sex, age FROM recordings"
    assert ask(settings, facts) == [("anna", 2, "female", 44)]
    table.unlink()
    run(settings)
    assert ask(settings, facts) == [("a", 1, None, None)]


@pytest.mark.parametrize("visit", ["²", "99999999999", "-1"])
def test_visit_that_is_no_number_is_a_warning(tmp_path: Path, visit: str) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(12)})
    rows = f"a.edf,anna,{visit},F,44\nb.edf,x,1,F,1\n"
    (tmp_path / "data" / "subjects.csv").write_text("file,subject,visit,sex,age\n" + rows)
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    assert one(settings, "SELECT visit FROM recordings") == 1
    warnings = str(one(settings, "SELECT warnings FROM datasets"))
    assert "visits that are not 1 to 10,000: " in warnings
    assert "1 row names no file here" in warnings


def test_quote_that_never_ends_is_a_warning(tmp_path: Path) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(12)})
    text = 'file,subject\na.edf,"' + "x" * 200_000 + "\n"
    (tmp_path / "data" / "subjects.csv").write_text(text)
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    assert "damaged after row 1" in str(one(settings, "SELECT warnings FROM datasets"))


def test_loops_of_links_are_not_followed(tmp_path: Path) -> None:
    write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(12)})
    (tmp_path / "data" / "loop").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "self.edf").symlink_to(tmp_path / "data" / "self.edf")
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    assert ask(settings, "SELECT name FROM recordings") == [("a.edf",)]


def test_annotations_of_a_record_with_another_signal_file_are_sources(tmp_path: Path) -> None:
    header = write_record(tmp_path / "data", "r1", {"II": beats(30, 360)}, rhythms={0: "N"})
    (tmp_path / "data" / "r1.dat").rename(tmp_path / "data" / "sig.dat")
    header.write_text(header.read_text().replace("r1.dat", "sig.dat"))
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    sources = ask(settings, "SELECT path, role FROM sources ORDER BY path")
    assert sources == [("r1.atr", "annotation"), ("r1.hea", "header"), ("sig.dat", "signal")]


def test_broken_annotations_leave_the_signal(tmp_path: Path) -> None:
    write_record(tmp_path / "mitdb", "100", {"MLII": beats(30, 360)})
    (tmp_path / "mitdb" / "100.atr").write_bytes(b"x")
    settings = settings_for(tmp_path / "store", mitdb=tmp_path / "mitdb")
    run(settings)
    assert one(settings, "SELECT status FROM recordings") == "ok"


@pytest.mark.timeout(20)
def test_pipe_among_the_files_is_not_waited_for(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_record(data, "r", {"II": beats(30, 360)})
    os.mkfifo(data / "r.atr")
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    assert ask(settings, "SELECT status, notes FROM recordings") == [("ok", ["no annotation file"])]


def test_store_whose_path_is_a_pattern_is_refused_before_any_work(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "st[1]", folder=tmp_path)
    with pytest.raises(DeapsError, match="pattern"):
        scan(settings)


@pytest.mark.parametrize("damage", [slice(20_000, 60_000), slice(5_000, 200_000)])
def test_damaged_index_is_made_anew(settings: Settings, damage: slice) -> None:
    first = run(settings)
    index = settings.store.root / "index.duckdb"
    index.chmod(0o644)
    data = bytearray(index.read_bytes())
    data[damage] = b"\xff" * len(data[damage])
    index.write_bytes(bytes(data))
    assert check_store(settings.store.root)[0].kind in ("index damaged", "no index")
    assert run(settings).snapshot_id == first.snapshot_id


def test_damaged_label_file_stops_nothing_and_is_counted(tmp_path: Path, root: Path) -> None:
    from tests.preprocessing.datasets.test_challenge2017 import write_record as write_mat

    challenge = tmp_path / "challenge"
    for name in ("A00001", "A00002"):
        write_mat(challenge, name, 12 + int(name[-1]))
    (challenge / "REFERENCE-v3.csv").write_text('A00001,N\n"' + "x" * 200_000 + "\nA00002,A")
    settings = settings_for(tmp_path / "store", shhs=root, challenge2017=challenge)
    run(settings)
    assert ask(settings, "SELECT count(*) FROM recordings WHERE status = 'ok'") == [(4,)]
    assert dict(ask(settings, "SELECT name, label FROM recordings WHERE label IS NOT NULL")) == {
        "A00001": "N",
        "A00002": "A",
    }
    assert "1 lines are damaged" in str(problem_rows(summarise(settings.store.root)))


def test_label_file_of_noise_says_how_many_labels_were_read(tmp_path: Path) -> None:
    from tests.preprocessing.datasets.test_challenge2017 import write_record as write_mat

    write_mat(tmp_path / "challenge", "A00001")
    (tmp_path / "challenge" / "REFERENCE-v3.csv").write_bytes(bytes(range(256)) * 600)
    settings = settings_for(tmp_path / "store", challenge2017=tmp_path / "challenge")
    run(settings)
    assert "tables describe 0 of 1 recordings" in str(problem_rows(summarise(settings.store.root)))


def test_reader_whose_tables_break_stops_nothing(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(root: Path) -> None:
        raise IndexError("Smith, John")

    monkeypatch.setattr(DATASETS["shhs"], "tables", broken)
    run(settings)
    shown = str(problem_rows(summarise(settings.store.root)))
    assert "tables are damaged" in shown
    assert "Smith" not in shown
    assert recording(settings)["status"] == "ok"


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), AttributeError("x"), KeyError("x"), OSError(5, "x"), RecursionError()],
    ids=lambda error: type(error).__name__,
)
def test_no_reason_names_a_module_or_a_line(error: Exception) -> None:
    try:
        raise error
    except Exception as raised:
        text = reason(raised)
    assert not re.search(r"line \d|\bin \w+\.|Error\b(?! )", text.replace("Input/output error", ""))
    assert "cannot be read" in text or "damaged" in text


def test_a_recording_of_nothing_but_rejected_windows_is_flagged(
    settings: Settings, root: Path
) -> None:
    write_edf(edf(root, BAD), {"ECG": np.full(90 * 125, 1.0)})
    run(settings)
    notes = [row["note"] for row in summarise(settings.store.root).notes]
    assert "nearly all windows flat: is the lead connected?" in notes
