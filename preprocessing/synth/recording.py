"""One recording: a person, a rhythm, a course and noise become samples in mV."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import signal

from preprocessing.synth.physiology.course import Course, draw_course
from preprocessing.synth.physiology.episodes import Segment
from preprocessing.synth.physiology.factors import Electrode, Subject
from preprocessing.synth.physiology.fibrillation import add_atrial_waves
from preprocessing.synth.physiology.noise import (
    NoiseLevel,
    NoiseProfile,
    add_noise,
    cut_leads,
    draw_level,
)
from preprocessing.synth.physiology.rhythm import Beats, draw_beats
from preprocessing.synth.physiology.sleep import SleepNight, with_sleep
from preprocessing.synth.physiology.waveform import Samples, draw_waveform


@dataclass(frozen=True, slots=True)
class Setup:
    """How a data set records: rate in Hz, leads, pass band of the recorder in Hz."""

    fs: float
    leads: tuple[str, ...]
    noise: NoiseProfile
    asleep: bool = False
    band_hz: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """Samples (leads by samples, mV) and the truth behind them."""

    mv: Samples
    beats: Beats
    segments: tuple[Segment, ...]
    course: Course
    level: NoiseLevel
    sleep: SleepNight | None = None


def _through_recorder(mv: Samples, setup: Setup) -> Samples:
    if setup.band_hz is None:
        return mv
    sos = signal.butter(2, setup.band_hz, "band", fs=setup.fs, output="sos")
    return np.asarray(signal.sosfilt(sos, mv, axis=1), dtype=np.float32)


def record(
    subject: Subject,
    segments: tuple[Segment, ...],
    electrode: Electrode,
    setup: Setup,
    rng: np.random.Generator,
    *,
    level: NoiseLevel | None = None,
    sleep: SleepNight | None = None,
) -> Recording:
    """Return one recording that ends with its last segment.

    Each part draws from a generator of its own, so a change of one leaves the others' draws.
    ``sleep`` has draws of its own, too, and changes heart rate and breathing.
    """
    body, beat, wave, atria, hiss, off = rng.spawn(6)
    duration_s = segments[-1].end_s
    samples = round(duration_s * setup.fs)
    course = draw_course(subject, duration_s, body, asleep=setup.asleep)
    if sleep is not None:
        course = with_sleep(course, subject, sleep)
    beats = draw_beats(segments, subject, course, beat)
    mv = draw_waveform(
        beats, subject, course, electrode,
        leads=setup.leads, samples=samples, fs=setup.fs, rng=wave,
    )  # fmt: skip
    add_atrial_waves(mv, segments, subject, leads=setup.leads, fs=setup.fs, rng=atria)
    mv *= np.float32(electrode.gain * (-1.0 if electrode.inverted else 1.0))
    level = level or draw_level(setup.noise, hiss)
    add_noise(mv, course, setup.noise, level, fs=setup.fs, rng=hiss)
    mv = _through_recorder(mv, setup)
    cut_leads(mv, setup.fs, setup.noise, off)
    return Recording(mv, beats, segments, course, level, sleep)
