"""The shape of a beat: Gaussian waves, each a dipole that a lead sees from its own direction.

Axes of the heart's electric field: x to the patient's left, y downwards, z to the front. A lead
is a vector, its voltage the scalar product, so two leads of one heart agree as real ones do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from preprocessing.synth.physiology.factors import Conduction, Subject

FloatArray = npt.NDArray[np.float64]
Vector = tuple[float, float, float]

LEADS: dict[str, Vector] = {
    "I": (1.0, 0.0, 0.0),
    "MLII": (0.5, 0.87, 0.0),
    "V1": (-0.55, 0.1, 0.85),
    "V2": (-0.1, 0.1, 1.1),
    "V4": (0.75, 0.3, 0.6),
    "V5": (1.0, 0.35, 0.15),
}
"""Direction of each lead; the chest leads are a little stronger because they are closer."""


class BeatKind(StrEnum):
    """Where a beat comes from. The value is its symbol in a WFDB annotation."""

    NORMAL = "N"
    ATRIAL = "A"
    VENTRICULAR = "V"
    JUNCTIONAL = "J"
    PACED = "/"
    FIBRILLATION = "f"
    """Conducted from fibrillating or fluttering atria: no P wave. Annotated as N."""


KINDS = tuple(BeatKind)


@dataclass(frozen=True, slots=True)
class Wave:
    """One Gaussian: dipole in mV, centre after the R peak and standard deviation in s.

    ``stretch`` is how far the centre moves, in s, when the corrected QT interval is doubled by
    the RR interval; 0 for the waves of the QRS complex and before.
    """

    dipole: Vector
    centre_s: float
    width_s: float
    stretch: float = 0.0


def _scaled(direction: Vector, size: float) -> Vector:
    x, y, z = (size * np.asarray(direction)).tolist()
    return x, y, z


def _frontal(angle_deg: float, depth: float) -> Vector:
    """Return the unit direction at an angle of the frontal plane (0 left, 90 down)."""
    angle = np.deg2rad(angle_deg)
    direction = np.array([np.cos(angle), np.sin(angle), depth])
    x, y, z = (direction / np.linalg.norm(direction)).tolist()
    return x, y, z


def p_wave(subject: Subject, *, ectopic: bool = False) -> list[Wave]:
    """Return right then left atrium; an ectopic focus activates the atria from elsewhere."""
    pr = subject.pr_s * (0.85 if ectopic else 1.0)
    right: Vector = (0.2, -0.5, 0.5) if ectopic else (0.35, 0.8, 0.5)
    left: Vector = (0.8, 0.3, -0.3) if ectopic else (0.75, 0.65, -0.45)
    return [
        Wave(_scaled(right, subject.p_mv), 0.022 - pr, 0.019),
        Wave(_scaled(left, subject.p_mv), 0.050 - pr, 0.020),
    ]


def _normal_qrs(subject: Subject) -> list[Wave]:
    k = subject.qrs_scale
    main = _frontal(subject.axis_deg, -subject.posterior)
    late = _frontal(subject.axis_deg + 150.0, -0.7)
    return [
        Wave(_scaled((-0.8, -0.25, 0.55), subject.q_mv), -0.025 * k, 0.0075 * k),
        Wave(_scaled(main, 0.80 * subject.r_mv), -0.002 * k, 0.0095 * k),
        Wave(_scaled(main, 0.25 * subject.r_mv), 0.009 * k, 0.0135 * k),
        Wave(_scaled(late, subject.s_mv), 0.029 * k, 0.0090 * k),
    ]


def _left_block_qrs(subject: Subject) -> list[Wave]:
    k = subject.qrs_scale
    main = _frontal(subject.axis_deg - 30.0, -0.6)
    return [
        Wave(_scaled(main, 0.60 * subject.r_mv), -0.014 * k, 0.017 * k),
        Wave(_scaled(main, 0.72 * subject.r_mv), 0.027 * k, 0.022 * k),
    ]


def qrs(subject: Subject) -> list[Wave]:
    """Return the QRS complex of a conducted beat, with its bundle branch block if there is one."""
    if subject.conduction is Conduction.LEFT_BLOCK:
        return _left_block_qrs(subject)
    waves = _normal_qrs(subject)
    if subject.conduction is Conduction.RIGHT_BLOCK:
        late = _scaled((-0.65, -0.1, 0.75), 0.42 * subject.r_mv)
        waves.append(Wave(late, 0.062 * subject.qrs_scale, 0.017 * subject.qrs_scale))
    return waves


def repolarisation(subject: Subject) -> list[Wave]:
    """Return ST segment and T wave; after a left block T points away from the QRS complex."""
    discordant = subject.conduction is Conduction.LEFT_BLOCK
    axis = subject.axis_deg + 165.0 if discordant else subject.t_axis_deg
    direction = _frontal(axis, 0.3)
    end = subject.qt_s - 0.04
    peak = end - 0.085
    early = 0.034 + 0.024 * subject.t_skew
    return [
        Wave(_scaled(direction, subject.st_mv), 0.55 * peak, 0.050, 0.45 * peak),
        Wave(_scaled(direction, 0.55 * subject.t_mv), peak - 0.034, early, peak),
        Wave(_scaled(direction, 0.62 * subject.t_mv), peak + 0.010, 0.034, peak),
    ]


def ventricular(subject: Subject) -> list[Wave]:
    """Return a beat that starts in a ventricle: wide, bizarre, with an opposite T wave."""
    first, size = np.asarray(subject.pvc_dipole), 1.15 * subject.r_mv
    turned = np.array([first[1], first[0], -first[2]])
    second = tuple((0.75 * first + 0.45 * turned).tolist())
    return [
        Wave(_scaled(subject.pvc_dipole, size), -0.012, 0.026),
        Wave(_scaled(second, 0.85 * size), 0.045, 0.032),
        Wave(_scaled(subject.pvc_dipole, -0.42 * size), 0.275, 0.062, 0.2),
        Wave(_scaled(subject.pvc_dipole, -0.16 * size), 0.165, 0.060, 0.1),
    ]


def paced(subject: Subject) -> list[Wave]:
    """Return a paced beat: a spike, then a wide complex that rises from the apex."""
    apex: Vector = (-0.35, -0.85, -0.4)
    size = 1.1 * subject.r_mv
    return [
        Wave((0.35, 0.9, 0.3), -0.055, 0.0018),
        Wave(_scaled(apex, 0.75 * size), -0.010, 0.017),
        Wave(_scaled(apex, 0.65 * size), 0.032, 0.024),
        Wave(_scaled(apex, -0.32 * size), 0.270, 0.058, 0.2),
    ]


def waves_of(kind: BeatKind, subject: Subject) -> list[Wave]:
    """Return the waves of one kind of beat of one person."""
    if kind is BeatKind.VENTRICULAR:
        return ventricular(subject)
    if kind is BeatKind.PACED:
        return paced(subject)
    conducted = qrs(subject) + repolarisation(subject)
    if kind is BeatKind.NORMAL:
        return p_wave(subject) + conducted
    if kind is BeatKind.ATRIAL:
        return p_wave(subject, ectopic=True) + conducted
    return conducted
