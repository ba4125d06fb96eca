"""Clean ECG with a steady rate and a known beat at a known time, in shapes that hearts have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from preprocessing.synth.physiology.people import (
    Conduction,
    Course,
    Electrode,
    Population,
    draw_subject,
)
from preprocessing.synth.physiology.rhythm import KINDS, BeatKind, Beats, Rhythm, Segment
from preprocessing.synth.physiology.shape import add_atrial_waves, draw_waveform

RATES = (35, 40, 45, 50, 55, 60, 70, 80, 100, 120, 140, 160, 180)
"""Beats a minute."""
FS = 250.0
_ADULTS = Population(age=(55.0, 12.0), rate=(65.0, 8.0), qrs_scale=(1.0, 0.06))
_TYPICAL = replace(
    draw_subject(_ADULTS, np.random.default_rng(1), male=True),
    axis_deg=45.0, posterior=0.35, p_mv=0.058, q_mv=0.12, r_mv=1.2, s_mv=0.34, st_mv=0.02,
    t_mv=0.25, t_axis_deg=45.0, pr_s=0.158, qt_s=0.40, qrs_scale=1.0, t_skew=0.55,
    pvc_dipole=(0.6, 0.7, -0.4), fibrillation_mv=0.055, fibrillation_hz=6.2,
)  # fmt: skip
"""The medians of the synthetic cohort: rates and rhythms differ here, people do not."""


@dataclass(frozen=True)
class Shape:
    """A lead of a heart: how it conducts, in which rhythm it beats."""

    name: str
    lead: str = "MLII"
    conduction: Conduction = Conduction.NORMAL
    rhythm: str = "sinus"


SHAPES = (
    Shape("lead II"),
    Shape("lead I", lead="I"),
    Shape("V5", lead="V5"),
    Shape("left bundle branch block", conduction=Conduction.LEFT_BLOCK),
    Shape("right bundle branch block", conduction=Conduction.RIGHT_BLOCK),
    Shape("paced", rhythm="paced"),
    Shape("bigeminy", rhythm="bigeminy"),
    Shape("AFib", rhythm="AFib"),
)


@dataclass(frozen=True)
class CleanEcg:
    """Samples in mV at 250 Hz, and the R peaks' times in seconds."""

    shape: Shape
    rate: int
    signal: NDArray[np.float32]
    beats_s: NDArray[np.float64]


def clean_ecg(
    shape: Shape, rate: int, *, seconds: float = 200, noise_mv: float = 0.005, seed: int = 1
) -> CleanEcg:
    """Return one recording."""
    rng = np.random.default_rng([seed, rate, SHAPES.index(shape)])
    subject = replace(_TYPICAL, conduction=shape.conduction, rate=rate)
    beats = _beats(shape, rate, seconds, rng)
    samples = round(seconds * FS)
    mv = draw_waveform(
        beats, subject, _steady(seconds, rate), Electrode(1.0, 0.0),
        leads=(shape.lead,), samples=samples, fs=FS, rng=rng,
    )  # fmt: skip
    if shape.rhythm == "AFib":
        segments = (Segment(0, seconds, Rhythm.FIBRILLATION),)
        add_atrial_waves(mv, segments, subject, leads=(shape.lead,), fs=FS, rng=rng)
    noise = noise_mv * rng.standard_normal(samples)
    return CleanEcg(shape, rate, (mv[0] + noise).astype(np.float32), beats.time_s)


def every_clean_ecg(*, seconds: float = 200) -> Iterator[CleanEcg]:
    """Yield every shape at every rate."""
    for shape in SHAPES:
        for rate in RATES:
            yield clean_ecg(shape, rate, seconds=seconds)


def _beats(shape: Shape, rate: int, seconds: float, rng: np.random.Generator) -> Beats:
    n = int(seconds * rate / 60) + 4
    interval = np.full(n, 60 / rate) * (1 + 0.01 * rng.standard_normal(n))
    kind = np.full(n, KINDS.index(BeatKind.NORMAL), np.int8)
    if shape.rhythm == "bigeminy":
        early = 0.3 * interval[1::2]
        interval[1::2] -= early
        interval[2::2] += early[: len(interval[2::2])]
        kind[1::2] = KINDS.index(BeatKind.VENTRICULAR)
    if shape.rhythm == "AFib":
        interval = np.maximum(interval * np.exp(rng.normal(-0.02, 0.2, n)), 0.3)
        kind[:] = KINDS.index(BeatKind.FIBRILLATION)
    if shape.rhythm == "paced":
        kind[:] = KINDS.index(BeatKind.PACED)
    time_s = np.cumsum(interval) - interval[0] / 2
    inside = time_s < seconds
    return Beats(time_s[inside], interval[inside], kind[inside])


def _steady(seconds: float, rate: int) -> Course:
    time_s = np.array([0.0, seconds])
    same = np.ones(2)
    return Course(time_s, 0 * same, rate * same, 0 * same, same, same)
