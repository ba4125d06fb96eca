"""Static factors: what stays the same in a person, and what changes with the electrodes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from storage.schema import Sex


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
