"""Synthetic sleep: shares of the stages, events, and what they do to heart and breath."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from preprocessing.config import SynthSettings
from preprocessing.formats.scoring_xml import read_night
from preprocessing.synth import shhs_nights as people
from preprocessing.synth.physiology.people import draw_course
from preprocessing.synth.physiology.sleep import (
    SleepEvent,
    SleepNight,
    draw_sleep,
    draw_stages,
    with_sleep,
)
from preprocessing.synth.recording import rng_for
from preprocessing.synth.shhs_nights import write_scorings
from storage.schema import BREATHING_EVENTS, EventKind, OldStage

PUBLISHED = {"S1": 4.6, "S2": 55.6, "S3+S4": 17.9, "REM": 20.7}
"""Of the sleep time, in per cent: PMC10354680, table 1, the SHHS nights of ARIC."""
EFFICIENCY = 79.5
"""Of the time in bed, in per cent: Chronobiology in Medicine 2023; 5(2), table 1."""


@pytest.mark.parametrize("hours", [1.0, 8.0])
def test_shares_of_stages_are_near_those_of_shhs(hours: float) -> None:
    settings = SynthSettings(shhs_subjects=30, shhs_hours=hours)
    counts = Counter(
        stage
        for visit in people.visits(settings)
        for stage in people.sleep_of(settings, visit).stages
    )
    asleep = counts.total() - counts[OldStage.WAKE]
    shares = {
        "S1": counts[OldStage.S1], "S2": counts[OldStage.S2], "REM": counts[OldStage.REM],
        "S3+S4": counts[OldStage.S3] + counts[OldStage.S4],
    }  # fmt: skip
    for name, share in PUBLISHED.items():
        assert 100 * shares[name] / asleep == pytest.approx(share, abs=10)
    assert 100 * asleep / counts.total() == pytest.approx(EFFICIENCY, abs=10)


def test_deep_sleep_comes_early_and_rem_late() -> None:
    nights = [draw_stages(960, np.random.default_rng(seed)) for seed in range(20)]
    halves = [Counter(night[:480]) for night in nights], [Counter(night[480:]) for night in nights]
    deep = [sum(c[OldStage.S3] + c[OldStage.S4] for c in half) for half in halves]
    rem = [sum(c[OldStage.REM] for c in half) for half in halves]
    assert deep[0] > 1.5 * deep[1]
    assert rem[1] > 1.3 * rem[0]


def test_breathing_events_are_about_as_frequent_as_asked_and_none_is_awake() -> None:
    night = draw_sleep(8 * 3600.0, 20.0, np.random.default_rng(2))
    events = [event for event in night.events if event.kind in BREATHING_EVENTS]
    assert 3600 * len(events) / night.sleep_s == pytest.approx(20, rel=0.35)
    first = [night.stages[int(event.start_s // 30)] for event in events]
    assert sum(stage is OldStage.WAKE for stage in first) <= 0.05 * len(first)


def test_an_apnea_stills_the_breath_and_the_heart_is_faster_after_it() -> None:
    subject = people.subject_of(1, 200001)
    course = draw_course(subject, 600.0, rng_for(1, "course"), asleep=True)
    apnea = SleepEvent(EventKind.CENTRAL_APNEA, 300.0, 20.0)
    stages = (OldStage.S2,) * 20
    still = with_sleep(course, subject, SleepNight(stages, ()))
    changed = with_sleep(course, subject, SleepNight(stages, (apnea,)))
    during = (course.time_s >= 300) & (course.time_s < 320)
    after = (course.time_s >= 321) & (course.time_s < 330)
    assert np.abs(changed.breath[during]).max() < 0.2 * np.abs(still.breath[during]).max()
    assert changed.rate[after].mean() > 1.08 * still.rate[after].mean()
    far = course.time_s > 400
    assert np.array_equal(changed.rate[far], still.rate[far])


def test_the_night_draws_from_a_stream_of_its_own() -> None:
    settings = SynthSettings(shhs_subjects=2, shhs_hours=0.1)
    visit = people.Visit(200001, 1)
    night = people.make_night(settings, visit)
    assert night.sleep == people.sleep_of(settings, visit)
    other = people.sleep_of(replace_seed(settings), visit)
    assert other != night.sleep


def replace_seed(settings: SynthSettings) -> SynthSettings:
    return settings.model_copy(update={"seed": settings.seed + 1})


def test_both_files_say_what_was_drawn(tmp_path: Path) -> None:
    night = draw_sleep(3600.0, 25.0, np.random.default_rng(5))
    write_scorings(tmp_path, "shhs1-1", 1, night, duration_s=3600.0, differ=False)
    nsrr, profusion = sorted(tmp_path.rglob("*.xml"))
    scoring = read_night(nsrr, profusion, duration_s=3600.0, truncated=False)
    assert scoring.notes == ()
    spans = zip(scoring.old_stage, scoring.stage_duration_s, strict=True)
    epochs = [list(OldStage)[code] for code, length in spans for _ in range(int(length // 30))]
    assert tuple(epochs) == night.stages
    kinds = [scoring.kinds[code] for code in scoring.kind]
    assert sorted(kinds) == sorted(str(event.kind) for event in night.events)
    differing = replace(night)
    write_scorings(tmp_path / "b", "shhs1-1", 1, differing, duration_s=3600.0, differ=True)
    nsrr, profusion = sorted((tmp_path / "b").rglob("*.xml"))
    notes = read_night(nsrr, profusion, duration_s=3600.0, truncated=False).notes
    assert notes == ("NSRR and Profusion differ in 1 epoch; NSRR's is used",)
