"""Who a synthetic person is: factors drawn once, and their course over a night."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy import signal

from storage.schema import Sex

FloatArray = npt.NDArray[np.float64]
COURSE_HZ = 4.0
SLEEP_CYCLE_S = 90.0 * 60.0


class Conduction(StrEnum):
    """How the ventricles are activated; it decides the shape of the QRS complex."""

    NORMAL = "normal"
    LEFT_BLOCK = "left bundle branch block"
    RIGHT_BLOCK = "right bundle branch block"


@dataclass(frozen=True, slots=True)
class Population:
    """Distributions of the static factors in the people of one data set.

    Pairs are mean and standard deviation, or median and standard deviation of the logarithm.
    """

    age: tuple[float, float]
    rate: tuple[float, float]
    qrs_scale: tuple[float, float]
    gain: tuple[float, float] = (1.0, 0.25)
    t_mv: tuple[float, float] = (0.22, 0.4)
    axis_deg: tuple[float, float] = (45.0, 22.0)
    t_inverted_share: float = 0.05
    pac_per_1000: tuple[float, float] = (1.0, 1.5)
    pvc_per_1000: tuple[float, float] = (0.7, 1.8)
    block_share: float = 0.04
    age_range: tuple[float, float] = (18.0, 95.0)


@dataclass(frozen=True, slots=True)
class Subject:
    """Static factors of one person; amplitudes in mV, times in s, rates per minute."""

    sex: Sex
    age: float
    rate: float
    afib_rate: float
    breaths: float
    rsa: float
    axis_deg: float
    posterior: float
    p_mv: float
    q_mv: float
    r_mv: float
    s_mv: float
    st_mv: float
    t_mv: float
    t_axis_deg: float
    pr_s: float
    qt_s: float
    qrs_scale: float
    t_skew: float
    conduction: Conduction
    pac_share: float
    pvc_share: float
    pvc_dipole: tuple[float, float, float]
    fibrillation_mv: float
    fibrillation_hz: float


@dataclass(frozen=True, slots=True)
class Electrode:
    """What one session changes: amplifier gain, position of the electrodes, swapped leads."""

    gain: float
    axis_deg: float
    inverted: bool = False


def _log_normal(rng: np.random.Generator, spec: tuple[float, float]) -> float:
    return float(spec[0] * np.exp(spec[1] * rng.standard_normal()))


def _unit(rng: np.random.Generator) -> tuple[float, float, float]:
    vector = rng.standard_normal(3)
    x, y, z = (vector / np.linalg.norm(vector)).tolist()
    return x, y, z


def draw_conduction(rng: np.random.Generator, block_share: float) -> Conduction:
    """Return the conduction of one person; the two blocks are equally frequent."""
    if rng.random() >= block_share:
        return Conduction.NORMAL
    return Conduction.LEFT_BLOCK if rng.random() < 0.5 else Conduction.RIGHT_BLOCK


def draw_subject(population: Population, rng: np.random.Generator, *, male: bool) -> Subject:
    """Return one person.

    Women have a faster heart, lower R and T waves, a shorter QRS complex, a flatter ST segment
    and a longer corrected QT interval. The distributions overlap: the factors together
    separate the sexes in about four of five people; gain and noise make it fewer.
    """
    age = float(np.clip(rng.normal(*population.age), *population.age_range))
    normal = rng.standard_normal
    strained = bool(rng.random() < population.t_inverted_share)
    youth = float(np.clip((70.0 - age) / 50.0, 0.1, 1.0))
    return Subject(
        sex=Sex.MALE if male else Sex.FEMALE,
        age=round(age),
        rate=float(np.clip(rng.normal(*population.rate) + (-2.0 if male else 2.0), 42, 120)),
        afib_rate=float(np.clip(rng.normal(92, 18), 60, 150)),
        breaths=float(np.clip(14.5 + 2.0 * normal(), 9, 22)),
        rsa=_log_normal(rng, (0.025 + 0.05 * youth, 0.4)),
        axis_deg=population.axis_deg[0]
        + population.axis_deg[1] * float(np.clip(normal(), -1.9, 1.9)),
        posterior=float(0.35 + 0.2 * normal()),
        p_mv=_log_normal(rng, (0.058, 0.35)),
        q_mv=_log_normal(rng, (0.12, 0.6)),
        r_mv=_log_normal(rng, (1.2 if male else 1.02, 0.28)),
        s_mv=_log_normal(rng, (0.34 if male else 0.28, 0.6)),
        st_mv=float((0.045 if male else 0.012) * youth - 0.03 * (1 - youth) + 0.025 * normal()),
        t_mv=_log_normal(rng, (population.t_mv[0] * (1.2 if male else 0.9), population.t_mv[1])),
        t_axis_deg=float(45.0 + 20.0 * normal() + 160.0 * strained),
        pr_s=float(np.clip(0.158 + 0.0004 * (age - 50) + 0.018 * normal(), 0.115, 0.23)),
        qt_s=float((0.402 if male else 0.420) + 0.0002 * (age - 50) + 0.018 * normal()),
        qrs_scale=_log_normal(rng, population.qrs_scale) * (1.05 if male else 0.96),
        t_skew=float(np.clip(0.55 + 0.15 * normal(), 0.2, 0.9)),
        conduction=draw_conduction(rng, population.block_share),
        pac_share=min(0.15, _log_normal(rng, population.pac_per_1000) / 1000),
        pvc_share=min(0.15, _log_normal(rng, population.pvc_per_1000) / 1000),
        pvc_dipole=_unit(rng),
        fibrillation_mv=_log_normal(rng, (0.055, 0.4)),
        fibrillation_hz=float(np.clip(rng.normal(6.2, 0.9), 4.2, 8.5)),
    )


def draw_electrode(
    population: Population, rng: np.random.Generator, *, inverted: bool = False
) -> Electrode:
    """Return what one session does to a person's signal: gain, and a few degrees of axis."""
    return Electrode(
        gain=_log_normal(rng, population.gain),
        axis_deg=float(8.0 * rng.standard_normal()),
        inverted=inverted,
    )


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
