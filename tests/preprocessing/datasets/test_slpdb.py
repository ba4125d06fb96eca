"""MIT-BIH Polysomnographic: stages and events of 30 s epochs."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
import wfdb
from sleepecg.io import sleep_readers

from preprocessing.datasets import DATASETS
from storage.schema import Scoring, Sex, SourceRole, Stage
from tests.edf_files import beats
from tests.preprocessing.datasets.reading import read
from tests.wfdb_files import write_record

NOTES = ("W", "1 L", "2 HA", "2 X", "3", "4 CA", "R", "MT")
PERSON = "44 M 89 32-01-89"


def write_night(root: Path, name: str, notes: tuple[str, ...] = NOTES, first: int = 1) -> None:
    """Write a record of 30 s for each note; the first annotation stands at sample ``first``."""
    fs = 250
    leads = {"ECG": beats(30 * len(notes), fs), "BP": np.zeros(30 * len(notes) * fs)}
    header = write_record(root, name, leads, fs=fs, comments=[PERSON])
    text = header.read_text().replace(f" {fs} ", f" {fs} ", 1)
    line, rest = text.split("\n", 1)
    header.write_text(f"{line} 23:05:00\n{rest}")
    samples = [first, *(30 * fs * k for k in range(1, len(notes)))]
    wfdb.wrann(
        name, "st", np.array(samples), symbol=['"'] * len(notes), aux_note=list(notes), fs=fs,
        write_dir=str(root),
    )  # fmt: skip


def scoring_of(root: Path, name: str, duration_s: float = 240.0) -> Scoring:
    recordings = {recording.name: recording for recording in DATASETS["slpdb"].find(root)}
    scoring = DATASETS["slpdb"].scoring(
        root, recordings[name], duration_s=duration_s, truncated=False
    )
    assert scoring is not None
    return scoring


def test_parts_of_one_night_are_one_person(tmp_path: Path) -> None:
    for name in ("slp01a", "slp01b", "slp03"):
        write_night(tmp_path, name)
    found = [(r.name, r.subject, r.visit) for r in DATASETS["slpdb"].find(tmp_path)]
    assert found == [("slp01a", "slp01", 1), ("slp01b", "slp01", 2), ("slp03", "slp03", 1)]
    assert next(iter(DATASETS["slpdb"].find(tmp_path))).files[-1] == (
        "slp01a.st", SourceRole.SCORING,
    )  # fmt: skip


def test_the_signal_has_age_sex_and_the_time_of_day(tmp_path: Path) -> None:
    write_night(tmp_path, "slp03")
    raw = read("slpdb", tmp_path, "slp03")
    assert (raw.channel, raw.fs, raw.age, raw.sex) == ("ECG", 250, 44, Sex.MALE)
    assert raw.clock_s == 23 * 3600 + 5 * 60


def test_an_epoch_has_a_stage_and_the_events_within_it(tmp_path: Path) -> None:
    write_night(tmp_path, "slp03")
    scoring = scoring_of(tmp_path, "slp03")
    stages = [list(Stage)[code] for code in scoring.stage]
    assert stages == ["W", "N1", "N2", "N3", "N3", "REM", "movement"]
    assert scoring.stage_start_s.tolist() == [0, 30, 60, 120, 150, 180, 210]
    events = zip(scoring.event_start_s, scoring.kind, strict=True)
    assert [(start, scoring.kinds[code]) for start, code in events] == [
        (30, "limb_movement"), (60, "arousal"), (60, "hypopnea"), (90, "arousal"),
        (90, "obstructive_apnea"), (150, "central_apnea"),
    ]  # fmt: skip


def test_stages_are_those_of_sleepecg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Even offline it asks PhysioNet for the list of records.
    monkeypatch.setattr(sleep_readers, "_list_physionet", lambda **_: ["slp03"])
    notes = ("W", "1", "2 HA", "3", "4", "R", "2")
    write_night(tmp_path / "slpdb", "slp03", notes)
    (record,) = sleep_readers.read_slpdb(offline=True, data_dir=tmp_path)
    names = {5: "W", 4: "REM", 3: "N1", 2: "N2", 1: "N3"}
    expected = [names[code] for code in record.sleep_stages]
    scoring = scoring_of(tmp_path / "slpdb", "slp03", 210.0)
    spans = zip(scoring.stage, scoring.stage_duration_s, strict=True)
    assert [list(Stage)[c] for c, length in spans for _ in range(int(length // 30))] == expected
    assert record.recording_start_time == datetime.time(23, 5)


def test_unknown_codes_are_counted_and_a_missing_file_is_a_note(tmp_path: Path) -> None:
    write_night(tmp_path, "slp03", ("W", "2 Q", "9"))
    assert scoring_of(tmp_path, "slp03", 90.0).notes == (
        "2 annotations of an unknown code: left out",
    )
    (tmp_path / "slp03.st").unlink()
    assert scoring_of(tmp_path, "slp03", 90.0).notes == ("no .st file",)
