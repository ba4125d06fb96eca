"""Stages and events in the index: what each window gets, and what a change rewrites."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from storage.errors import DeapsError
from storage.publish import publish, republish
from storage.schema import DatasetRow, OldStage, RecordingRow, Scoring, Stage
from storage.snapshot import Snapshot, open_index
from tests.storage.made_store import SETTINGS, make_row, write_recording

Spans = list[tuple[float, float, str, str | None]]
Events = list[tuple[Any, ...]]
"""Start, length, kind and, of a desaturation, how far SpO2 falls."""


def make_scoring(stages: Spans, events: Events | None = None) -> Scoring:
    events = events or []
    kinds = tuple(sorted({event[2] for event in events}))
    olds = [-1 if old is None else list(OldStage).index(OldStage(old)) for *_, old in stages]
    return Scoring(
        stage_start_s=np.array([span[0] for span in stages], float),
        stage_duration_s=np.array([span[1] for span in stages], float),
        stage=np.array([list(Stage).index(Stage(span[2])) for span in stages], np.int8),
        old_stage=np.array(olds, np.int8),
        event_start_s=np.array([event[0] for event in events], float),
        event_duration_s=np.array([event[1] for event in events], float),
        kind=np.array([kinds.index(event[2]) for event in events], np.int16),
        kinds=kinds,
        event_drop=np.array([event[3] if len(event) > 3 else np.nan for event in events], "f4"),
    )


def publish_scored(
    root: Path, rows: list[RecordingRow], scorings: dict[str, Scoring] | None = None
) -> Snapshot:
    keyed = {("ds", name): scoring for name, scoring in (scorings or {}).items()}
    return publish(root, rows, datasets=[DatasetRow("ds")], settings=SETTINGS, scorings=keyed)


def ask(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with open_index(root) as index:
        return index.execute(sql).fetchall()


def windows(root: Path, columns: str, name: str = "r1") -> list[tuple[Any, ...]]:
    return ask(
        root,
        f"SELECT {columns} FROM windows JOIN recordings USING (recording_id) "
        f"WHERE name = '{name}' ORDER BY \"row\"",
    )


def test_a_window_has_the_stage_of_its_epoch(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 7)
    spans: Spans = [(0, 30, "W", "W"), (30, 30, "N3", "S4")]
    publish_scored(root, [row], {"r1": make_scoring(spans)})
    assert windows(root, "stage::VARCHAR, old_stage::VARCHAR, stage_share") == [
        *[("W", "W", 1.0)] * 3,
        *[("N3", "S4", 1.0)] * 3,
        (None, None, None),
    ]


def test_off_the_grid_the_stage_that_covers_most_of_the_window_stands(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 4)
    spans: Spans = [
        (0, 14, "W", None),
        (14, 3, "N3", "S3"),
        (17, 6, "N3", "S4"),
        (36, 4, "N1", None),
    ]
    publish_scored(root, [row], {"r1": make_scoring(spans)})
    found = windows(root, "stage::VARCHAR, old_stage::VARCHAR, stage_share")
    assert found[0] == ("W", None, 1.0)
    assert found[1][:2] == ("N3", "S3")
    assert found[1][2] == pytest.approx(0.6)
    assert found[2] == (None, None, None)  # seven of its ten seconds are not scored
    assert found[3] == (None, None, None)


def test_a_window_has_the_seconds_of_each_kind_of_event(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 3)
    events: Events = [
        (8, 14, "hypopnea"),
        (5, 30, "hypopnea"),
        (12.5, 3, "arousal"),
        (1, 1, "yawn"),
    ]
    publish_scored(root, [row], {"r1": make_scoring([(0, 30, "N2", None)], events)})
    assert windows(root, "hypopnea_s, arousal_s, central_apnea_s") == [
        (7.0, 0.0, 0.0),
        (10.0, 3.0, 0.0),
        (10.0, 0.0, 0.0),
    ]
    kept = ask(root, "SELECT kind, start_s, duration_s, first_row, last_row FROM events ORDER BY 2")
    assert kept == [
        ("yawn", 1.0, 1.0, 0, 0),
        ("hypopnea", 5.0, 30.0, 0, 3),
        ("hypopnea", 8.0, 14.0, 0, 2),
        ("arousal", 12.5, 3.0, 1, 1),
    ]


def test_without_a_scoring_everything_about_it_is_null(root: Path) -> None:
    rows = [
        write_recording(root, make_row("r1"), 2),
        write_recording(root, make_row("r2", scoring_digest="a"), 2),
    ]
    publish_scored(root, rows, {"r2": make_scoring([(0, 20, "REM", "REM")])})
    assert windows(root, "stage, old_stage, stage_share, arousal_s") == [(None,) * 4] * 2
    assert windows(root, "stage::VARCHAR, arousal_s", "r2") == [("REM", 0.0)] * 2


def test_the_time_of_day_goes_on_after_midnight(root: Path) -> None:
    rows = [
        write_recording(root, make_row("r1", clock_s=86_390.0), 3),
        write_recording(root, make_row("r2"), 1),
    ]
    publish_scored(root, rows)
    assert [str(time) for (time,) in windows(root, "time_of_day")] == [
        "23:59:50", "00:00:00", "00:00:10",
    ]  # fmt: skip
    assert windows(root, "time_of_day", "r2") == [(None,)]


def test_publishing_again_keeps_stages_that_nobody_hands_over(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 3)
    scoring = make_scoring([(0, 30, "N2", "S2")], [(3, 4, "arousal")])
    publish_scored(root, [row], {"r1": scoring})
    tables = ("windows", "stages", "events")
    before = [ask(root, f"FROM {table}") for table in tables]
    other = write_recording(root, make_row("r2"), 2)
    publish_scored(root, [row, other])
    after = [
        ask(root, f"FROM {table} WHERE recording_id = 1")
        for table in ("windows", "stages", "events")
    ]
    assert after == before
    assert republish(root).rebuilt is False


def test_a_new_scoring_changes_its_own_columns_alone(root: Path) -> None:
    rows = [
        write_recording(root, make_row(name, scoring_digest="a"), 3, seed=k)
        for k, name in enumerate(("r1", "r2"))
    ]
    first = make_scoring([(0, 30, "N2", "S2")])
    publish_scored(root, rows, {"r1": first, "r2": first})
    measured = windows(root, "psqi, hr_mean, quality, time_of_day")
    untouched = windows(root, "COLUMNS(*)", "r2")
    second = make_scoring([(0, 30, "REM", "REM")], [(5, 10, "hypopnea")])
    publish_scored(root, [replace(rows[0], scoring_digest="b"), rows[1]], {"r1": second})
    assert windows(root, "psqi, hr_mean, quality, time_of_day") == measured
    assert windows(root, "stage::VARCHAR, hypopnea_s") == [("REM", 5.0), ("REM", 5.0), ("REM", 0.0)]
    assert windows(root, "COLUMNS(*)", "r2") == untouched


def test_a_scoring_that_is_gone_leaves_nothing_behind(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 3)
    publish_scored(root, [row], {"r1": make_scoring([(0, 30, "N2", None)], [(1, 1, "arousal")])})
    publish_scored(root, [replace(row, scoring_digest=None)])
    assert windows(root, "stage, arousal_s") == [(None, None)] * 3
    assert ask(root, "SELECT (SELECT count(*) FROM stages) + (SELECT count(*) FROM events)") == [
        (0,)
    ]


def test_a_scoring_that_is_nowhere_stops_the_publication(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 3)
    with pytest.raises(DeapsError, match=r"ds/r1.*deaps preprocess --verify"):
        publish_scored(root, [row])


def test_a_copy_that_returns_has_its_stages(root: Path) -> None:
    scoring = make_scoring([(0, 30, "N1", "S1")])
    source = make_row("r1").sources
    rows = [
        write_recording(root, make_row(name, sources=source, scoring_digest="a"), 3)
        for name in ("r1", "r2")
    ]
    publish_scored(root, rows, {"r1": scoring, "r2": scoring})
    assert windows(root, "stage", "r2") == []
    publish_scored(root, [rows[1]])
    assert windows(root, "stage::VARCHAR", "r2") == [("N1",)] * 3


def test_many_windows_are_scored_in_several_parts(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.index.rows._SCORED_AT_ONCE", 4)
    rows = [
        write_recording(root, make_row(f"r{k}", scoring_digest="a" if k != 2 else None), 3)
        for k in range(5)
    ]
    scorings = {f"r{k}": make_scoring([(0, 30, list(Stage)[k], None)]) for k in (0, 1, 3, 4)}
    publish_scored(root, rows, scorings)
    found = ask(root, 'SELECT recording_id, "row", stage::VARCHAR FROM windows')
    names = ["W", "N1", None, "N3", "REM"]
    assert found == [(k + 1, r, names[k]) for k in range(5) for r in range(3)]


def test_the_views_count_minutes_and_events(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 12)
    spans: Spans = [
        (0, 30, "unscored", None), (30, 30, "W", None), (60, 30, "N3", None), (90, 30, "REM", None),
    ]  # fmt: skip
    events: Events = [(65, 10, "hypopnea"), (100, 10, "obstructive_apnea"), (112, 3, "arousal")]
    publish_scored(root, [row], {"r1": make_scoring(spans, events)})
    view = "SELECT wake_min, n3_min, rem_min, sleep_min, efficiency, latency_min"
    ((*minutes, efficiency, latency),) = ask(root, f"{view} FROM stage_by_recording")
    assert minutes == [0.5, 0.5, 0.5, 1.0]
    assert efficiency == pytest.approx(2 / 3)
    assert latency == pytest.approx(0.5)
    counts = (
        "SELECT n_hypopneas, n_obstructive_apneas, n_arousals, ahi_all FROM events_by_recording"
    )
    assert ask(root, counts) == [(1, 1, 1, pytest.approx(120.0))]


def test_windows_around_events_are_those_of_a_minute_on_either_side(root: Path) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 40)
    publish_scored(
        root, [row], {"r1": make_scoring([(0, 400, "N2", None)], [(205, 12, "hypopnea")])}
    )
    found = ask(root, 'SELECT "row", after_end_s FROM windows_around_events ORDER BY "row"')
    assert [number for number, _ in found] == list(range(14, 29))
    assert dict(found)[22] == pytest.approx(3.0)


NIGHT: Spans = [
    (0, 600, "W", None), (600, 1800, "N2", None), (2400, 600, "W", None),
    (3000, 1800, "REM", None), (4800, 1800, "N3", None), (6600, 600, "W", None),
]  # fmt: skip
"""Half an hour each of N2, REM and N3; awake for 10 minutes before, between and after."""
BREATHING: Events = [
    (300, 20, "hypopnea"), (310, 30, "desaturation", 6.0),  # awake: counts nowhere
    (700, 20, "obstructive_apnea"),  # an apnea counts without a desaturation
    (900, 20, "hypopnea"), (920, 30, "desaturation", 3.0),  # 3 %
    (1100, 20, "hypopnea"), (1149, 30, "desaturation", 4.0),  # 4 %, begins 29 s after the end
    (1300, 20, "hypopnea"), (1351, 30, "desaturation", 9.0),  # 31 s after the end: not linked
    (1500, 20, "hypopnea"), (1524, 5, "arousal"),  # an arousal 4 s after the end
    (1700, 20, "hypopnea"), (1726, 5, "arousal"),  # 6 s after the end: not linked
    (3100, 20, "hypopnea"), (3110, 9, "desaturation", 2.9), (3125, 9, "desaturation", 4.1),  # REM
    (3300, 20, "central_apnea"),
    (5000, 20, "hypopnea"), (4995, 30, "desaturation", 8.0),  # it began before: not linked
]  # fmt: skip


def publish_night(root: Path, spans: Spans, events: Events) -> None:
    row = write_recording(root, make_row(scoring_digest="a"), 720)
    publish_scored(root, [row], {"r1": make_scoring(sorted(spans), sorted(events))})


def test_the_indices_of_a_night_computed_by_hand(root: Path) -> None:
    publish_night(root, NIGHT, BREATHING)
    counts = "SELECT n_hypopneas, n_all, n3, n4, n3a FROM events_by_recording"
    # In sleep: 2 apneas and 7 hypopneas; 3 % has 3 of them, 4 % has 2, an arousal 1 more.
    assert ask(root, counts) == [(8, 9, 5, 4, 6)]
    indices = "SELECT ahi_all, ahi3, ahi4, ahi3a FROM events_by_recording"
    assert ask(root, indices) == [pytest.approx((9 / 1.5, 5 / 1.5, 4 / 1.5, 6 / 1.5))]
    parts = "SELECT ahi3_rem, ahi3_nrem, ahi4_rem, ahi4_nrem, ahi3a_rem, ahi3a_nrem"
    expected = pytest.approx((2 / 0.5, 3.0, 2 / 0.5, 2.0, 2 / 0.5, 4.0))
    assert ask(root, f"{parts} FROM events_by_recording") == [expected]


def test_waso_latencies_and_shifts_of_a_night_computed_by_hand(root: Path) -> None:
    publish_night(root, NIGHT, BREATHING)
    columns = "latency_min, rem_latency_min, waso_min, stage_shifts, efficiency"
    expected = pytest.approx((10, 40, 20, 3, 0.75))
    assert ask(root, f"SELECT {columns} FROM stage_by_recording") == [expected]


def test_a_night_without_sleep_has_neither_latency_nor_index(root: Path) -> None:
    publish_night(root, [(0, 7200, "W", None)], [(300, 20, "hypopnea")])
    columns = "latency_min, rem_latency_min, waso_min, stage_shifts"
    assert ask(root, f"SELECT {columns} FROM stage_by_recording") == [(None,) * 4]
    assert ask(root, "SELECT n_all, ahi_all, ahi3 FROM events_by_recording") == [(0, None, None)]


def test_without_depths_there_is_no_index_that_needs_them(root: Path) -> None:
    events: Events = [(700, 20, "hypopnea"), (710, 30, "desaturation")]
    publish_night(root, NIGHT, events)
    asked = "SELECT ahi_all, ahi3, ahi4, ahi3a, n3 FROM events_by_recording"
    assert ask(root, asked) == [(pytest.approx(1 / 1.5), None, None, None, None)]
    linked = "SELECT linked_drop, linked_arousal, stage FROM events WHERE kind = 'hypopnea'"
    assert ask(root, linked) == [(None, False, "N2")]
