"""Rhythms, from the generator's own truth: what beats when, and with which waves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from preprocessing.config import SynthSettings
from preprocessing.synth import afdb, mitdb
from preprocessing.synth.physiology.people import Course, Subject, draw_course, draw_subject
from preprocessing.synth.physiology.rhythm import (
    KINDS,
    BeatKind,
    Beats,
    Bout,
    Rhythm,
    Segment,
    draw_beats,
    schedule,
    whole,
)
from preprocessing.synth.physiology.shape import add_atrial_waves, waves_of
from preprocessing.synth.recording import rng_for

DURATION_S = 900.0


@pytest.fixture
def subject() -> Subject:
    steady = draw_subject(mitdb.POPULATION, rng_for(3, "subject"), male=True)
    return replace(steady, rate=70.0, afib_rate=95.0, pac_share=0.0, pvc_share=0.0)


@pytest.fixture
def course(subject: Subject) -> Course:
    return draw_course(subject, DURATION_S, rng_for(3, "course"), asleep=False)


def beats_in(rhythm: Rhythm, subject: Subject, course: Course) -> Beats:
    return draw_beats(whole(DURATION_S, rhythm), subject, course, rng_for(3, rhythm.value))


def variation(beats: Beats) -> float:
    """Return the deviation of successive RR differences relative to the mean RR interval."""
    return float(np.std(np.diff(beats.rr_s)) / beats.rr_s.mean())


def test_afib_is_irregular_and_sinus_is_not(subject: Subject, course: Course) -> None:
    afib = beats_in(Rhythm.FIBRILLATION, subject, course)
    sinus = beats_in(Rhythm.SINUS, subject, course)
    assert 0.15 < afib.rr_s.std() / afib.rr_s.mean() < 0.35
    assert variation(afib) > 4 * variation(sinus)


def test_a_beat_in_afib_has_no_p_wave(subject: Subject, course: Course) -> None:
    afib = beats_in(Rhythm.FIBRILLATION, subject, course)
    assert afib.of(BeatKind.FIBRILLATION).all()
    assert min(w.centre_s for w in waves_of(BeatKind.FIBRILLATION, subject)) > -0.06


def test_a_sinus_beat_has_a_p_wave_before_the_qrs(subject: Subject) -> None:
    before = [w for w in waves_of(BeatKind.NORMAL, subject) if w.centre_s < -0.06]
    assert len(before) == 2


def test_fibrillatory_waves_lie_between_4_and_9_hz(subject: Subject) -> None:
    out = np.zeros((1, 30 * 250), dtype=np.float32)
    segments = whole(30.0, Rhythm.FIBRILLATION)
    add_atrial_waves(out, segments, subject, leads=("V1",), fs=250, rng=rng_for(3, "f"))
    power = np.abs(np.fft.rfft(out[0])) ** 2
    hz = np.fft.rfftfreq(out.shape[1], 1 / 250)
    assert power[(hz >= 3.5) & (hz <= 9.5)].sum() > 0.8 * power.sum()


def test_atrial_waves_stay_within_their_episode(subject: Subject) -> None:
    out = np.zeros((1, 20 * 100), dtype=np.float32)
    segments = (Segment(5.0, 10.0, Rhythm.FIBRILLATION), Segment(10.0, 20.0, Rhythm.SINUS))
    add_atrial_waves(out, segments, subject, leads=("V1",), fs=100, rng=rng_for(3, "f"))
    assert not out[0, :500].any()
    assert not out[0, 1000:].any()
    assert out[0, 500:1000].any()


def test_the_heart_follows_the_breath(subject: Subject, course: Course) -> None:
    sinus = beats_in(Rhythm.SINUS, subject, course)
    breath = course.at("breath", sinus.time_s - 0.5 * sinus.rr_s)
    rate = 1 / sinus.rr_s
    quick = rate - np.convolve(rate, np.ones(9) / 9, mode="same")
    assert np.corrcoef(breath[9:-9], quick[9:-9])[0, 1] > 0.5


def test_the_median_rate_is_the_subjects(subject: Subject, course: Course) -> None:
    assert 60 / np.median(beats_in(Rhythm.SINUS, subject, course).rr_s) == pytest.approx(70, abs=8)


def test_a_ventricular_beat_is_early_and_its_pause_makes_up(
    subject: Subject, course: Course
) -> None:
    many = replace(subject, pvc_share=0.05)
    beats = beats_in(Rhythm.SINUS, many, course)
    early = np.flatnonzero(beats.of(BeatKind.VENTRICULAR))[1:-1]
    usual = np.median(beats.rr_s)
    assert len(early) > 20
    assert np.median(beats.rr_s[early]) < 0.75 * usual
    assert np.median(beats.rr_s[early] + beats.rr_s[early + 1]) == pytest.approx(2 * usual, rel=0.1)


def test_bigeminy_alternates(subject: Subject, course: Course) -> None:
    kinds = beats_in(Rhythm.BIGEMINY, subject, course).kind
    assert {KINDS[k] for k in kinds[1::2]} == {BeatKind.VENTRICULAR}
    assert {KINDS[k] for k in kinds[:-1:2]} == {BeatKind.NORMAL}


@pytest.mark.parametrize("rhythm", list(Rhythm))
def test_beats_rise_within_the_recording(rhythm: Rhythm, subject: Subject, course: Course) -> None:
    beats = beats_in(rhythm, subject, course)
    assert (np.diff(beats.time_s) > 0.2).all()
    assert beats.time_s[0] >= 0
    assert DURATION_S - 3 < beats.time_s[-1] < DURATION_S


def test_a_schedule_covers_the_recording_at_the_given_shares() -> None:
    bouts = [Bout(Rhythm.FIBRILLATION, 0.3, 4), Bout(Rhythm.FLUTTER, 0.1, 2)]
    segments = schedule(1000.0, bouts, rng_for(1, "s"))
    taken = {r: sum(s.end_s - s.start_s for s in segments if s.rhythm is r) for r in Rhythm}
    assert taken[Rhythm.FIBRILLATION] == pytest.approx(300)
    assert taken[Rhythm.FLUTTER] == pytest.approx(100)
    assert [a.end_s for a in segments[:-1]] == [b.start_s for b in segments[1:]]
    assert (segments[0].start_s, segments[-1].end_s) == (0.0, 1000.0)


def test_the_first_afdb_records_hold_about_the_share_of_all() -> None:
    shares = [share for share, _ in afdb.AFIB.values()]
    assert np.mean(shares[:6]) == pytest.approx(np.mean(shares), abs=0.05)


def test_201_and_202_are_one_person() -> None:
    seed = SynthSettings().seed
    assert mitdb.subject_of(seed, "201") == mitdb.subject_of(seed, "202")
    assert mitdb.subject_of(seed, "201") != mitdb.subject_of(seed, "203")
