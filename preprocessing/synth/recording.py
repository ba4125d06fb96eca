"""One synthetic recording: a person's beats, noise and rhythm, as samples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import signal

from preprocessing.config import SynthSettings
from preprocessing.synth.physiology.noise import (
    NoiseLevel,
    NoiseProfile,
    add_noise,
    cut_leads,
    draw_level,
)
from preprocessing.synth.physiology.people import Course, Electrode, Subject, draw_course
from preprocessing.synth.physiology.rhythm import Beats, Segment, draw_beats
from preprocessing.synth.physiology.shape import Samples, add_atrial_waves, draw_waveform
from preprocessing.synth.physiology.sleep import SleepNight, with_sleep

GOLDEN = 0.6180339887498949


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


@dataclass(frozen=True, slots=True)
class SynthDataset:
    """One data set as three functions of the settings.

    ``write_record`` writes the files of one record and needs no other record, so records may be
    written in any order and by any process; ``write_tables`` writes what lists them.
    """

    name: str
    records: Callable[[SynthSettings], tuple[str, ...]]
    write_record: Callable[[Path, SynthSettings, str], None]
    write_tables: Callable[[Path, SynthSettings], None]

    def write(self, root: Path, settings: SynthSettings) -> Path:
        """Write the whole data set under ``root`` and return ``root``."""
        for record in self.records(settings):
            self.write_record(root, settings, record)
        self.write_tables(root, settings)
        return root


def rng_for(seed: int, *names: str) -> np.random.Generator:
    """Return the generator of one named thing, e.g. ``rng_for(1, "shhs", "200001", "visit2")``.

    A record's randomness depends on the seed and its names alone, so a cohort can grow without
    changing the records it already has.
    """
    digest = hashlib.sha256("/".join((str(seed), *names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def even_draw(index: int) -> float:
    """Return a number in [0, 1) such that every run of indices covers the range evenly.

    Used where a small cohort must still hold each sex or each class at about its share; an
    independent draw would often leave one out. The sequence is the multiples of the golden ratio.
    """
    return (0.5 + index * GOLDEN) % 1.0
