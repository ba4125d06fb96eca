"""Beats to samples: every wave of every beat added onto the sample grid."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from preprocessing.synth.physiology.course import Course
from preprocessing.synth.physiology.factors import Electrode, Subject
from preprocessing.synth.physiology.morphology import KINDS, LEADS, Wave, waves_of
from preprocessing.synth.physiology.rhythm import Beats

FloatArray = npt.NDArray[np.float64]
Samples = npt.NDArray[np.float32]

REACH = 3.7
"""A Gaussian is drawn this many standard deviations to either side; beyond lies 0.1 %."""

CHUNK = 4096
"""Beats drawn at once: the scratch arrays then stay in the processor's cache."""


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
