"""A night of SHHS: two scorings, compared, and beside the length of the signal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from preprocessing.formats.scoring_xml import read_night
from storage.schema import Scoring, Stage
from tests.preprocessing.scoring.made_scorings import nsrr, profusion, written


def read(
    folder: Path,
    first: str | bytes | None,
    second: str | bytes | None,
    duration_s: float = 180.0,
    *,
    truncated: bool = False,
) -> Scoring:
    paths = [
        None if text is None else written(folder, text, name)
        for text, name in ((first, "n.xml"), (second, "p.xml"))
    ]
    return read_night(*paths, duration_s=duration_s, truncated=truncated)


def stages(scoring: Scoring) -> list[str]:
    return [list(Stage)[code] for code in scoring.stage]


def test_two_scorings_that_agree_need_no_note(tmp_path: Path) -> None:
    scoring = read(tmp_path, nsrr(), profusion())
    assert scoring.notes == ()
    assert stages(scoring) == ["W", "N2", "N3"]
    assert [scoring.kinds[code] for code in scoring.kind] == [
        "obstructive_apnea", "desaturation", "arousal",
    ]  # fmt: skip


def test_where_they_differ_nsrr_stands_and_the_recording_is_flagged(tmp_path: Path) -> None:
    other = profusion((0, 0, 2, 1, 4, 4), (("Hypopnea", 61.5, 14.0),))
    scoring = read(tmp_path, nsrr(), other)
    assert scoring.notes == ("NSRR and Profusion differ in 1 epoch and 3 events; NSRR's is used",)
    assert stages(scoring) == ["W", "N2", "N3"]


def test_times_that_differ_by_rounding_are_equal(tmp_path: Path) -> None:
    other = profusion(events=(("Obstructive Apnea", 61.54, 13.96),))
    first = nsrr(events=(("R|R", "Obstructive apnea|x", 61.5, 14.0),))
    assert read(tmp_path, first, other).notes == ()


@pytest.mark.parametrize(
    ("first", "second", "note"),
    [
        (None, profusion(), "no NSRR scoring"),
        (nsrr(), None, "no Profusion scoring"),
        (nsrr()[:300], profusion(), "NSRR scoring cannot be read: not whole XML: "),
        (nsrr(), b"\xff\xfe\x00", "Profusion scoring cannot be read: not whole XML: "),
        (nsrr((), ()), profusion(), "NSRR scoring is empty"),
    ],
)
def test_one_good_scoring_is_enough(
    tmp_path: Path, first: str | None, second: str | bytes | None, note: str
) -> None:
    scoring = read(tmp_path, first, second)
    assert len(scoring.notes) == 1
    assert scoring.notes[0].startswith(note)
    assert stages(scoring) == ["W", "N2", "N3"]


def test_without_any_scoring_there_is_nothing_but_notes(tmp_path: Path) -> None:
    scoring = read(tmp_path, None, None)
    assert scoring.notes == ("no NSRR scoring", "no Profusion scoring")
    assert len(scoring.stage) == len(scoring.kind) == 0


@pytest.mark.parametrize("duration_s", [120.0, 3600.0])
def test_stages_of_another_length_are_not_used(tmp_path: Path, duration_s: float) -> None:
    scoring = read(tmp_path, nsrr(), profusion(), duration_s)
    assert len(scoring.stage) == len(scoring.kind) == 0
    assert scoring.notes[-1].startswith("scoring of another length")
    assert scoring.notes[-1].endswith("not used")


def test_a_partial_last_epoch_is_no_other_length(tmp_path: Path) -> None:
    scoring = read(tmp_path, nsrr(), profusion(), 171.0)
    assert scoring.notes == ()
    assert scoring.stage_duration_s.tolist() == [60.0, 60.0, 51.0]


def test_a_signal_that_was_cut_short_keeps_the_stages_that_it_has(tmp_path: Path) -> None:
    scoring = read(tmp_path, nsrr(), profusion(), 90.0, truncated=True)
    assert stages(scoring) == ["W", "N2"]
    assert scoring.stage_duration_s.tolist() == [60.0, 30.0]
    assert "not used" not in scoring.notes[0]


def test_impossible_times_overlaps_and_what_lies_outside_are_left_out(tmp_path: Path) -> None:
    spans = (("Wake|0", 0, 90), ("Stage 2 sleep|2", 60, 120), ("REM sleep|5", -30, 30))
    events = (
        ("R|R", "Hypopnea|Hypopnea", float("nan"), 5),
        ("R|R", "Hypopnea|Hypopnea", 500, 5),
        ("R|R", "Hypopnea|Hypopnea", 170, 30),
    )
    scoring = read(tmp_path, nsrr(spans, events), None)
    assert set(scoring.notes) == {
        "no Profusion scoring",
        "2 entries with an impossible time: left out",
        "stages overlap: the later one stands",
        "1 events after the signal's end: left out",
    }
    assert np.array_equal(scoring.stage_duration_s, [60.0, 120.0])
    assert scoring.event_duration_s.tolist() == [10.0]


def test_stages_off_the_grid_of_windows_are_flagged(tmp_path: Path) -> None:
    spans = (("Wake|0", 0, 65), ("Stage 2 sleep|2", 65, 115))
    assert "1 stages start off the grid of windows" in read(tmp_path, nsrr(spans), None).notes
