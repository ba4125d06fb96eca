"""Scorings next to recordings of one's own, in every format, on nights whose stages are known."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from edfio import Edf, EdfAnnotation, EdfSignal

from preprocessing.synth.physiology.sleep import SleepEvent, SleepNight
from preprocessing.synth.shhs_nights import nsrr_xml, profusion_xml
from preprocessing.user_folder.names import match_scorings
from preprocessing.user_folder.scorings import read_annot
from storage.schema import EventKind, OldStage
from tests.edf_files import beats, write_edf
from tests.flows.inline import ask, run, settings_for

STAGES = [OldStage.WAKE, OldStage.S2, OldStage.S3, OldStage.REM]
EXPECTED = [(0.0, 30.0, "W"), (30.0, 30.0, "N2"), (60.0, 30.0, "N3"), (90.0, 30.0, "REM")]
EVENT = SleepEvent(EventKind.HYPOPNEA, 40.0, 12.5)
NIGHT = SleepNight(tuple(STAGES), (EVENT,))

ANNOT = """# a comment
class\tinstance\tchannel\tstart\tstop\tmeta
W\t.\t.\t0\t30\t.
N2\t.\t.\t0+00:00:30\t+30\t.
N3\t.\t.\t60\t...\t.
R\t.\t.\t90\t120\t.
hypopnea\t.\t.\t40\t52.5\t.
"""


def hypnogram(path: Path, *, shift_s: float = 0) -> None:
    words = {
        "W": "Sleep stage W",
        "N2": "Sleep stage 2",
        "N3": "Sleep stage 3",
        "REM": "Sleep stage R",
    }
    notes = [
        EdfAnnotation(start + shift_s, length, words[stage]) for start, length, stage in EXPECTED
    ]
    notes.append(EdfAnnotation(EVENT.start_s + shift_s, EVENT.duration_s, "Hypopnea"))
    signal = EdfSignal(np.zeros(4), 1, label="none")
    Edf([signal], annotations=notes).write(path)


def write_scoring(folder: Path, name: str) -> None:
    match name:
        case "night.annot":
            (folder / name).write_text(ANNOT)
        case "night-nsrr.xml" | "night.xml":
            (folder / name).write_text(nsrr_xml(NIGHT, 120))
        case "night-profusion.xml" | "Night.XML":
            (folder / name).write_text(profusion_xml(NIGHT))
        case _:
            hypnogram(folder / name)


@pytest.mark.parametrize(
    "name",
    ["night-nsrr.xml", "night-profusion.xml", "night.xml", "Night.XML", "night.annot",
     "night-hypnogram.edf", "night_Hypnogram.edf"],
)  # fmt: skip
def test_a_scoring_next_to_a_recording_is_read_without_a_setting(tmp_path: Path, name: str) -> None:
    write_edf(tmp_path / "mine/night.edf", {"ECG": beats(120)})
    write_edf(tmp_path / "mine/other.edf", {"ECG": beats(60)})
    write_scoring(tmp_path / "mine", name)
    settings = settings_for(tmp_path / "store", folder=tmp_path / "mine")
    run(settings)
    names = ask(settings, "SELECT name, scoring_digest IS NOT NULL FROM recordings ORDER BY name")
    assert names == [("night.edf", True), ("other.edf", False)]
    asked = "SELECT start_s, duration_s, stage::VARCHAR FROM stages ORDER BY start_s"
    assert ask(settings, asked) == EXPECTED
    assert ask(settings, "SELECT kind, start_s, duration_s FROM events") == [("hypopnea", 40, 12.5)]


def test_a_scoring_is_that_of_its_own_name() -> None:
    names = ["a.edf", "a.xml", "ab.edf", "ab-nsrr.xml", "ab-hypnogram.edf", "b.annot"]
    matched, unmatched = match_scorings(["a.edf", "ab.edf", "ab-hypnogram.edf"], names)
    assert matched == {"a.edf": ["a.xml"], "ab.edf": ["ab-nsrr.xml", "ab-hypnogram.edf"]}
    assert unmatched == ["b.annot"]
    sleep_edf = ["SC4001E0-PSG.edf", "SC4001EC-Hypnogram.edf", "SC4002EC-Hypnogram.edf"]
    matched, unmatched = match_scorings(sleep_edf, sleep_edf)
    assert matched == {"SC4001E0-PSG.edf": ["SC4001EC-Hypnogram.edf"]}
    assert unmatched == ["SC4002EC-Hypnogram.edf"]


@pytest.mark.parametrize("name", ["stages.edf", "p1_annotations.edf", "scoring.bdf"])
def test_a_file_named_like_a_hypnogram_stays_a_recording(tmp_path: Path, name: str) -> None:
    write_edf(tmp_path / "mine" / name, {"ECG": beats(30)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "mine")
    run(settings)
    assert ask(settings, "SELECT name, status FROM recordings") == [(name, "ok")]


def test_what_is_no_scoring_leaves_the_recordings_own_annotations(tmp_path: Path) -> None:
    signal = EdfSignal(beats(120), 125, label="ECG", physical_dimension="mV")
    (tmp_path / "mine").mkdir()
    notes = [EdfAnnotation(0, 120, "Sleep stage N2")]
    Edf([signal], annotations=notes).write(tmp_path / "mine/night.edf")
    (tmp_path / "mine/night.xml").write_text("<metadata/>")
    (tmp_path / "mine/other.xml").write_text("<metadata/>")
    settings = settings_for(tmp_path / "store", folder=tmp_path / "mine")
    run(settings)
    assert ask(settings, "SELECT stage::VARCHAR FROM stages") == [("N2",)]
    ((warnings,),) = ask(settings, "SELECT warnings FROM datasets")
    assert not any("looks like a scoring" in text for text in warnings)
    assert ask(settings, "SELECT scoring_notes FROM recordings") == [([],)]
    (tmp_path / "mine/night.xml").write_text("<PSGAnnotation><ScoredEvents>")
    run(settings)
    ((notes,),) = ask(settings, "SELECT scoring_notes FROM recordings")
    assert notes == ["the .xml file next to it cannot be read as a scoring"]
    assert ask(settings, "SELECT stage::VARCHAR FROM stages") == [("N2",)]


def test_thousands_of_files_are_matched_at_once() -> None:
    recordings = [f"night{number}.edf" for number in range(20_000)]
    names = [*recordings, *(f"night{number}-hypnogram.edf" for number in range(20_000))]
    started = time.perf_counter()
    matched, unmatched = match_scorings(names, names)
    assert time.perf_counter() - started < 5
    assert len(matched) == 20_000
    assert not unmatched


def test_a_scoring_without_a_recording_is_a_warning(tmp_path: Path) -> None:
    write_edf(tmp_path / "mine/night.edf", {"ECG": beats(30)})
    write_scoring(tmp_path / "mine", "night.xml")
    (tmp_path / "mine/another.annot").write_text(ANNOT)
    settings = settings_for(tmp_path / "store", folder=tmp_path / "mine")
    run(settings)
    ((warnings,),) = ask(settings, "SELECT warnings FROM datasets")
    assert any("1 file looks like a scoring" in text for text in warnings)


def test_times_of_the_clock_are_from_the_recordings_start(tmp_path: Path) -> None:
    rows = ["N2\t.\t.\t23:59:30\t00:00:30\t.", "hypopnea\t.\t.\t00:00:10\t00:00:20\t.", "x\ty"]
    (tmp_path / "a.annot").write_text("\n".join(rows))
    draft = read_annot(tmp_path / "a.annot", clock_s=23 * 3600 + 59 * 60)
    assert [span[:2] for span in draft.stages] == [(30, 60)]
    assert [event[:3] for event in draft.events] == [(70, 10, "hypopnea")]
    assert draft.notes == ["1 events without start or duration: left out"]
    unknown = read_annot(tmp_path / "a.annot", clock_s=None)
    assert not unknown.stages
    assert unknown.notes == ["3 events without start or duration: left out"]


def test_events_csv_wins_over_a_scoring_next_to_the_file(tmp_path: Path) -> None:
    write_edf(tmp_path / "mine/night.edf", {"ECG": beats(120)})
    write_scoring(tmp_path / "mine", "night.xml")
    (tmp_path / "mine/events.csv").write_text("file,start_s,duration_s,event\nnight.edf,0,120,N1\n")
    settings = settings_for(tmp_path / "store", folder=tmp_path / "mine")
    run(settings)
    assert ask(settings, "SELECT stage::VARCHAR FROM stages") == [("N1",)]
