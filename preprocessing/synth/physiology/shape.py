"""The shape of a heartbeat: its waves, fibrillation, and the waveform of a lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preprocessing.synth.physiology.people import Conduction, Course, Electrode, Subject, drift
from preprocessing.synth.physiology.rhythm import KINDS, BeatKind, Beats, Rhythm, Segment

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
Samples = npt.NDArray[np.float32]
REACH = 3.7
"""A Gaussian is drawn this many standard deviations to either side; beyond lies 0.1 %."""
CHUNK = 4096
"""Beats drawn at once: the scratch arrays then stay in the processor's cache."""
GRID_HZ = 100.0
SOURCES = np.array([[0.25, 0.55, 0.8], [0.6, -0.4, 0.5]])
"""Directions of two wandering sources; both are strongest in V1, as in patients."""


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


def add_gaussians(
    out: Samples, centre_s: FloatArray, width_s: float, size_mv: FloatArray, fs: float
) -> None:
    """Add Gaussians of one width to every lead.

    Parameters
    ----------
    out
        Signal, leads by samples; changed in place.
    centre_s, size_mv
        Centres in s, and heights in mV as Gaussians by leads.
    """
    half = int(np.ceil(REACH * width_s * fs))
    offsets = np.arange(-half, half + 1)
    for start in range(0, len(centre_s), CHUNK):
        centre = centre_s[start : start + CHUNK] * fs
        nearest = np.rint(centre).astype(np.int64)
        inside = (nearest >= half) & (nearest < out.shape[1] - half)
        nearest, centre = nearest[inside], centre[inside]
        sizes = size_mv[start : start + CHUNK][inside].astype(np.float32)
        x = offsets[None, :] + (nearest - centre)[:, None]
        bell = np.exp(-0.5 * np.square((x / (width_s * fs)).astype(np.float32)))
        where = (nearest[:, None] + offsets[None, :]).ravel()
        for lead, row in enumerate(out):
            np.add.at(row, where, (bell * sizes[:, lead, None]).ravel())


def _rotated(lead: tuple[float, float, float], angle: FloatArray) -> FloatArray:
    """Return the lead's direction seen from a heart turned in the frontal plane, beats by 3."""
    x, y, z = lead
    turned = [x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle)]
    return np.stack([*turned, np.full_like(angle, z)], axis=1)


def _qt_factor(beats: Beats) -> FloatArray:
    """Return the cube root of the RR interval (Fridericia), smoothed: QT follows over beats."""
    rr = np.clip(beats.rr_s, 0.35, 1.6)
    padded = np.concatenate([np.full(3, rr[:1].mean() if len(rr) else 1.0), rr])
    smooth = np.convolve(padded, [0.4, 0.3, 0.2, 0.1], mode="valid")
    return np.asarray(np.cbrt(smooth))


def _wave_sizes(wave: Wave, views: FloatArray, gain: FloatArray, t_gain: FloatArray) -> FloatArray:
    """Return the height of a wave in every beat and lead, beats by leads, in mV."""
    total = gain * t_gain if wave.stretch > 0 else gain
    return np.asarray((views @ np.asarray(wave.dipole)).T * total[:, None])


def draw_waveform(
    beats: Beats,
    subject: Subject,
    course: Course,
    electrode: Electrode,
    *,
    leads: tuple[str, ...],
    samples: int,
    fs: float,
    rng: np.random.Generator,
) -> Samples:
    """Return the clean signal, leads by samples, in mV at the skin."""
    out = np.zeros((len(leads), samples), dtype=np.float32)
    angle = course.at("axis", beats.time_s) + np.deg2rad(electrode.axis_deg)
    views = np.stack([_rotated(LEADS[lead], angle) for lead in leads])
    gain = course.at("gain", beats.time_s) * rng.normal(1.0, 0.02, len(beats.time_s))
    t_gain = course.at("t_gain", beats.time_s)
    shift = _qt_factor(beats) - 1.0
    for code in np.unique(beats.kind):
        mine = beats.kind == code
        for wave in waves_of(KINDS[code], subject):
            centre = beats.time_s[mine] + wave.centre_s + wave.stretch * shift[mine]
            sizes = _wave_sizes(wave, views[:, mine], gain[mine], t_gain[mine])
            add_gaussians(out, centre, wave.width_s, sizes, fs)
    return out


def _wandering(size: int, hz: float, rng: np.random.Generator) -> FloatArray:
    """Return one source: unsteady in frequency (4-9 Hz) and height, with a harmonic."""
    rate = np.clip(hz + 0.45 * drift(size, 1.0, rng, GRID_HZ), 4.0, 9.0)
    phase = 2.0 * np.pi * (np.cumsum(rate) / GRID_HZ + rng.random())
    height = np.clip(1.0 + 0.4 * drift(size, 0.8, rng, GRID_HZ), 0.1, 2.2)
    return height * (np.sin(phase) + 0.28 * np.sin(2.0 * phase + 0.8))


def _sawtooth(size: int, hz: float) -> FloatArray:
    phase = 2.0 * np.pi * hz * np.arange(size) / GRID_HZ
    return 1.6 * (np.sin(phase) + 0.42 * np.sin(2.0 * phase) + 0.18 * np.sin(3.0 * phase))


def _sources(segment: Segment, subject: Subject, rng: np.random.Generator) -> FloatArray:
    """Return both sources over a segment, 2 by grid points, faded in and out over 0.3 s."""
    size = max(int((segment.end_s - segment.start_s) * GRID_HZ), 2)
    if segment.rhythm is Rhythm.FLUTTER:
        tooth = _sawtooth(size, 0.8 * subject.fibrillation_hz)
        sources = np.stack([tooth, 0.2 * tooth])
    else:
        hz = subject.fibrillation_hz
        sources = np.stack([_wandering(size, hz, rng), _wandering(size, 0.9 * hz, rng)])
    edge = np.minimum(np.arange(size), np.arange(size)[::-1]) / (0.3 * GRID_HZ)
    return np.asarray(subject.fibrillation_mv * sources * np.minimum(edge, 1.0))


def add_atrial_waves(
    out: Samples,
    segments: Sequence[Segment],
    subject: Subject,
    *,
    leads: tuple[str, ...],
    fs: float,
    rng: np.random.Generator,
) -> None:
    """Add f waves or flutter waves to the segments that have them, in place."""
    views = np.array([LEADS[lead] for lead in leads]) @ SOURCES.T
    for segment in segments:
        if segment.rhythm not in (Rhythm.FIBRILLATION, Rhythm.FLUTTER):
            continue
        seen = views @ _sources(segment, subject, rng)
        first, last = (round(t * fs) for t in (segment.start_s, segment.end_s))
        where = np.arange(min(last, out.shape[1]) - first) / fs * GRID_HZ
        for row, wave in zip(out, seen, strict=True):
            row[first : first + len(where)] += np.interp(where, np.arange(seen.shape[1]), wave)
