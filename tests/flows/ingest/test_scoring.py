"""Stages and events from files to the index, and what a change of them redoes."""

from __future__ import annotations

import os
from pathlib import Path

import edfio
import pytest

from flows.config import Settings
from flows.ingest.recording import reason
from flows.ingest.scan import Why
from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, one, run, settings_for, todo
from tests.wfdb_files import write_record

LONG_AGO_NS = 1_600_000_000 * 10**9
NIGHT = "shhs1-200001"
PSG = "polysomnography"


MEASURED = "SELECT COLUMNS('^(psqi|hr|qual|row)') FROM windows WHERE recording_id = 1"


def rest(root: Path, pattern: str = "*") -> None:
    """Make files so old that their times alone show a change."""
    for path in root.rglob(pattern):
        if path.is_file():
            os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def nsrr_path(data: Path, name: str = NIGHT) -> Path:
    return data / PSG / "annotations-events-nsrr" / name[:5] / f"{name}-nsrr.xml"


def profusion_path(data: Path, name: str = NIGHT) -> Path:
    return data / PSG / "annotations-events-profusion" / name[:5] / f"{name}-profusion.xml"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    root = DATASETS["shhs"].write(tmp_path / "shhs", SynthSettings(shhs_subjects=2, shhs_hours=0.1))
    rest(root)
    return root


@pytest.fixture
def settings(tmp_path: Path, data: Path) -> Settings:
    return settings_for(tmp_path / "store", shhs=data)


def notes(settings: Settings, name: str = NIGHT) -> list[str]:
    return list(one(settings, f"SELECT scoring_notes FROM recordings WHERE name = '{name}'"))


def test_every_window_of_a_scored_night_has_a_stage(settings: Settings) -> None:
    run(settings)
    assert one(settings, "SELECT count(*) FROM windows WHERE stage IS NULL") == 0
    assert one(settings, "SELECT min(stage_share) FROM windows") == 1.0
    assert one(settings, "SELECT count(DISTINCT time_of_day) FROM windows") == 36
    assert todo(settings) == {}


def test_a_changed_scoring_redoes_its_own_rows_and_no_signal(
    settings: Settings, data: Path
) -> None:
    run(settings)
    files = {p: p.stat().st_mtime_ns for p in (settings.store.root / "windows").rglob("*.parquet")}
    others = ask(settings, "FROM windows WHERE recording_id <> 1")
    measured = ask(
        settings, "SELECT COLUMNS('^(psqi|hr|qual|row)') FROM windows WHERE recording_id = 1"
    )
    digest = one(settings, f"SELECT scoring_digest FROM recordings WHERE name = '{NIGHT}'")
    for path in (nsrr_path(data), profusion_path(data)):
        text = path.read_text().replace("Wake|0", "REM sleep|5")
        path.write_text(text.replace("<SleepStage>0<", "<SleepStage>5<"))
    os.utime(nsrr_path(data), ns=(LONG_AGO_NS + 1, LONG_AGO_NS + 1))
    os.utime(profusion_path(data), ns=(LONG_AGO_NS + 1, LONG_AGO_NS + 1))
    assert todo(settings) == {NIGHT: Why.SCORING}
    run(settings)
    assert one(settings, "SELECT count(*) FROM windows WHERE recording_id = 1 AND stage = 'W'") == 0
    assert ask(settings, "FROM windows WHERE recording_id <> 1") == others
    again = ask(
        settings, "SELECT COLUMNS('^(psqi|hr|qual|row)') FROM windows WHERE recording_id = 1"
    )
    assert again == measured
    assert one(settings, f"SELECT scoring_digest FROM recordings WHERE name = '{NIGHT}'") != digest
    kept = {p: p.stat().st_mtime_ns for p in (settings.store.root / "windows").rglob("*.parquet")}
    assert kept == files
    assert todo(settings) == {}


def test_a_scoring_that_is_touched_alone_publishes_nothing_new(
    settings: Settings, data: Path
) -> None:
    before = run(settings).snapshot_id
    os.utime(nsrr_path(data), ns=(LONG_AGO_NS + 1, LONG_AGO_NS + 1))
    assert todo(settings) == {NIGHT: Why.SCORING}
    assert run(settings).snapshot_id == before
    assert todo(settings) == {}


def test_scorings_that_come_later_need_no_signal(settings: Settings, data: Path) -> None:
    texts = {path: path.read_bytes() for path in (data / PSG).rglob("*.xml")}
    for path in texts:
        path.unlink()
    run(settings)
    assert one(settings, "SELECT count(stage) FROM windows") == 0
    assert notes(settings) == ["no NSRR scoring", "no Profusion scoring"]
    for path, text in texts.items():
        path.write_bytes(text)
    rest(data, "*.xml")
    assert set(todo(settings).values()) == {Why.SCORING}
    run(settings)
    assert one(settings, "SELECT count(*) FROM windows WHERE stage IS NULL") == 0
    assert notes(settings) == []


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda path: path.unlink(), "no NSRR scoring"),
        (lambda path: path.write_text(path.read_text()[:500]), "NSRR scoring cannot be read"),
        (lambda path: path.write_bytes(b"\xe9" + path.read_bytes()), "NSRR scoring cannot be read"),
        (lambda path: path.write_text("<PSGAnnotation/>"), "NSRR scoring is empty"),
    ],
    ids=["missing", "truncated", "encoding", "empty"],
)
def test_a_bad_scoring_flags_the_recording_and_sets_nothing_aside(
    settings: Settings, data: Path, change, note: str
) -> None:
    change(nsrr_path(data))
    profusion_path(data).unlink()
    run(settings)
    assert notes(settings)[0].startswith(note)
    assert one(settings, "SELECT count(*) FROM recordings WHERE status <> 'ok'") == 0
    assert one(settings, "SELECT count(stage) FROM windows WHERE recording_id = 1") == 0
    assert one(settings, "SELECT count(*) FROM windows WHERE recording_id = 1") == 36


def test_a_scoring_of_another_length_is_flagged_and_not_used(
    settings: Settings, data: Path
) -> None:
    text = profusion_path(data).read_text()
    profusion_path(data).write_text(
        text.replace("</SleepStages>", "<SleepStage>2</SleepStage>" * 9 + "</SleepStages>")
    )
    nsrr_path(data).unlink()
    run(settings)
    assert notes(settings)[1].startswith("scoring of another length")
    assert one(settings, "SELECT count(stage) FROM windows WHERE recording_id = 1") == 0


def test_a_reader_that_fails_costs_the_scoring_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("Mr Smith")

    monkeypatch.setattr("preprocessing.formats.scoring_xml.read_night", fail)
    run(settings)
    (note,) = notes(settings)
    assert note == f"scoring cannot be read: {reason(RuntimeError())}"
    assert "Error" not in note
    assert "Smith" not in note
    assert one(settings, "SELECT count(*) FROM recordings WHERE status = 'ok'") == 4


def test_ones_own_files_have_stages_from_a_table(tmp_path: Path) -> None:
    data = tmp_path / "own"
    for name in ("a.edf", "b.edf"):
        write_edf(data / name, {"ECG": beats(60, seed=ord(name[0]))})
    (data / "events.csv").write_text(
        "file,start_s,duration_s,event\na.edf,0,25,W\na.edf,25,35,N2\na.edf,31,8,Hypopnea\n"
        "a.edf,50,2,seizure\na.edf,soon,2,W\nc.edf,0,30,W\n"
    )
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    stages = ask(
        settings,
        "SELECT name, stage::VARCHAR, stage_share, hypopnea_s FROM windows "
        'JOIN recordings USING (recording_id) ORDER BY name, "row"',
    )
    assert stages[:4] == [
        ("a.edf", "W", 1.0, 0.0), ("a.edf", "W", 1.0, 0.0), ("a.edf", "W", 0.5, 0.0),
        ("a.edf", "N2", 1.0, 8.0),
    ]  # fmt: skip
    assert {row[1:] for row in stages if row[0] == "b.edf"} == {(None, None, None)}
    assert one(settings, "SELECT count(*) FROM events WHERE kind = 'seizure'") == 1
    warnings = one(settings, "SELECT warnings FROM datasets")
    assert "events.csv: 1 rows without a start or a duration in numbers" in warnings
    assert "events.csv: 1 name is no file here" in warnings


def test_a_new_row_of_the_table_changes_its_own_recording_alone(tmp_path: Path) -> None:
    data = tmp_path / "own"
    for name in ("a.edf", "b.edf"):
        write_edf(data / name, {"ECG": beats(60, seed=ord(name[0]))})
    table = data / "events.csv"
    table.write_text("file,start_s,duration_s,event\na.edf,0,60,W\nb.edf,0,60,N1\n")
    rest(data)
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    digests = dict(ask(settings, "SELECT name, scoring_digest FROM recordings"))
    table.write_text("file,start_s,duration_s,event\na.edf,0,60,REM\nb.edf,0,60,N1\n")
    rest(data, "*.csv")
    assert set(todo(settings).values()) == {Why.SCORING}
    run(settings)
    after = dict(ask(settings, "SELECT name, scoring_digest FROM recordings"))
    assert after["a.edf"] != digests["a.edf"]
    assert after["b.edf"] == digests["b.edf"]


def test_ones_own_edf_plus_has_its_annotations(tmp_path: Path) -> None:
    data = tmp_path / "own"
    data.mkdir()
    annotations = [
        edfio.EdfAnnotation(0, 30, "Sleep stage W"),
        edfio.EdfAnnotation(30, None, "Sleep stage 3"),
        edfio.EdfAnnotation(41.5, 6, "Central apnea"),
        edfio.EdfAnnotation(50, None, "Mr Smith asks for water"),
    ]
    signal = edfio.EdfSignal(beats(60), 125, label="ECG", physical_dimension="mV")
    edfio.Edf([signal], annotations=annotations).write(data / "night.edf")
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    assert ask(
        settings, "SELECT stage::VARCHAR, old_stage::VARCHAR, central_apnea_s FROM windows"
    ) == [
        *[("W", None, 0.0)] * 3,
        ("N3", "S3", 0.0),
        ("N3", "S3", 6.0),
        ("N3", "S3", 0.0),
    ]
    assert notes(settings, "night.edf") == ["1 annotations in other words: left out"]


def test_ones_own_bdf_plus_has_its_annotations(tmp_path: Path) -> None:
    data = tmp_path / "own"
    data.mkdir()
    stages = [
        edfio.EdfAnnotation(0, 30, "Sleep stage W"),
        edfio.EdfAnnotation(30, 30, "Sleep stage N2"),
    ]
    signal = edfio.BdfSignal(beats(60), 125, label="ECG", physical_dimension="mV")
    edfio.Bdf([signal], annotations=stages).write(data / "night.bdf")
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    rows = ask(settings, "SELECT stage::VARCHAR FROM windows")
    assert [stage for (stage,) in rows] == ["W"] * 3 + ["N2"] * 3


def test_a_table_of_another_length_is_not_used(tmp_path: Path) -> None:
    data = tmp_path / "own"
    write_edf(data / "a.edf", {"ECG": beats(120)})
    (data / "events.csv").write_text("file,start_s,duration_s,event\na.edf,0,7200,N2\n")
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    assert ask(settings, "SELECT DISTINCT stage::VARCHAR FROM windows") == [(None,)]
    (note,) = notes(settings, "a.edf")
    assert note.startswith("scoring of another length")
    assert note.endswith("not used")


def test_rows_of_a_file_score_no_other_file_of_a_similar_name(tmp_path: Path) -> None:
    data = tmp_path / "own"
    for seed, name in enumerate(("night.edf", "Night.edf", "other.edf")):
        write_edf(data / name, {"ECG": beats(60, seed=seed)})
    write_record(data, "night", {"II": beats(60, 360, seed=7)})
    rows = "night.edf,0,30,W\nnight.edf,30,30,N1\nOTHER,0,30,N2\nother.edf,30,30,N3\n"
    (data / "events.csv").write_text(f"file,start_s,duration_s,event\n{rows}NIGHT,0,60,REM\n")
    settings = settings_for(tmp_path / "store", folder=data)
    run(settings)
    stages = ask(
        settings,
        "SELECT name, string_agg(DISTINCT stage::VARCHAR, ' ' ORDER BY stage::VARCHAR) "
        "FROM windows JOIN recordings USING (recording_id) GROUP BY name",
    )
    assert dict(stages) == {
        "night.edf": "N1 W", "Night.edf": None, "night.hea": None, "other.edf": "N2 N3"
    }  # fmt: skip
    warnings = one(settings, "SELECT warnings FROM datasets")
    assert any("1 name means more than one file: not used" in warning for warning in warnings)
