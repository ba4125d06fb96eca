"""The slow course of a recording: breathing, heart rate, sleep cycles, posture.

Everything here lives on a grid of 4 Hz; beats and samples look their values up on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import signal

from preprocessing.synth.physiology.factors import Subject

FloatArray = npt.NDArray[np.float64]

COURSE_HZ = 4.0
SLEEP_CYCLE_S = 90.0 * 60.0


@dataclass(frozen=True, slots=True)
class Course:
    """Dynamic factors at ``time_s``; ``rate`` per minute, ``axis`` in rad, gains around 1."""

    time_s: FloatArray
    breath: FloatArray
    rate: FloatArray
    axis: FloatArray
    gain: FloatArray
    t_gain: FloatArray

    def at(self, name: str, time_s: FloatArray) -> FloatArray:
        """Return one factor at any times, linearly interpolated."""
        return np.interp(time_s, self.time_s, getattr(self, name))


def drift(size: int, tau_s: float, rng: np.random.Generator, hz: float = COURSE_HZ) -> FloatArray:
    """Return a stationary random walk of unit variance that forgets itself in ``tau_s``."""
    keep = float(np.exp(-1.0 / (tau_s * hz)))
    start = [keep * rng.standard_normal()]
    kick = np.sqrt(1.0 - keep**2) * rng.standard_normal(size)
    walk, _ = signal.lfilter([1.0], [1.0, -keep], kick, zi=start)
    return np.asarray(walk)


def _breathing(subject: Subject, size: int, rng: np.random.Generator) -> FloatArray:
    rate_hz = subject.breaths / 60.0 * (1.0 + 0.10 * drift(size, 40.0, rng))
    phase = np.cumsum(2.0 * np.pi * np.clip(rate_hz, 0.1, 0.6) / COURSE_HZ)
    depth = np.clip(1.0 + 0.3 * drift(size, 60.0, rng), 0.3, 2.0)
    return depth * np.sin(phase + rng.uniform(0.0, 2.0 * np.pi))


def _steps(size: int, per_hour: float, rng: np.random.Generator) -> FloatArray:
    """Return a curve that jumps at random to a new value of unit variance, as posture does."""
    turns = rng.random(size) < per_hour / 3600.0 / COURSE_HZ
    values = rng.standard_normal(int(turns.sum()) + 1)
    return values[np.cumsum(turns)]


def _arousals(size: int, per_hour: float, rng: np.random.Generator) -> FloatArray:
    """Return short accelerations that rise in 2 s and fade in about 10 s."""
    strikes = (rng.random(size) < per_hour / 3600.0 / COURSE_HZ) * rng.gamma(3.0, 1.0 / 3.0, size)
    fade = np.arange(int(40 * COURSE_HZ)) / COURSE_HZ
    return np.convolve(strikes, np.minimum(fade / 2.0, 1.0) * np.exp(-fade / 8.0))[:size]


def _rate(
    subject: Subject, breath: FloatArray, time_s: FloatArray, rng: np.random.Generator, asleep: bool
) -> FloatArray:
    size = len(time_s)
    minutes = 0.045 * drift(size, 150.0, rng) + 0.05 * drift(size, 900.0, rng)
    seconds = 0.018 * drift(size, 4.0, rng) + subject.rsa * breath
    relative = 1.0 + minutes + seconds
    if asleep:
        cycle = np.cos(2.0 * np.pi * time_s / SLEEP_CYCLE_S + rng.uniform(0.0, 2.0 * np.pi))
        relative += -0.08 + 0.05 * cycle + 0.14 * _arousals(size, 18.0, rng)
    return np.clip(subject.rate * relative, 35.0, 190.0)


def draw_course(
    subject: Subject, duration_s: float, rng: np.random.Generator, *, asleep: bool
) -> Course:
    """Return the course of one recording.

    Rate and T wave wander over minutes, so that a window lies between its neighbours; the axis
    follows each breath and jumps when the sleeper turns, 2.5 times an hour.
    """
    size = int(np.ceil(duration_s * COURSE_HZ)) + 8
    time_s = np.arange(size) / COURSE_HZ
    breath = _breathing(subject, size, rng)
    posture = _steps(size, 2.5 if asleep else 0.5, rng)
    slow = drift(size, 300.0, rng)
    return Course(
        time_s=time_s,
        breath=breath,
        rate=_rate(subject, breath, time_s, rng, asleep),
        axis=np.deg2rad(3.0 * breath + 7.0 * posture + 2.5 * slow),
        gain=1.0 + 0.035 * breath + 0.03 * drift(size, 200.0, rng),
        t_gain=np.clip(1.0 - 0.10 * slow + 0.06 * drift(size, 60.0, rng), 0.4, 1.8),
    )
