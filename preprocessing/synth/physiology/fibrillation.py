"""What the atria do when they do not beat: fibrillatory waves and the sawtooth of flutter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from preprocessing.synth.physiology.course import drift
from preprocessing.synth.physiology.episodes import Rhythm, Segment
from preprocessing.synth.physiology.factors import Subject
from preprocessing.synth.physiology.morphology import LEADS
from preprocessing.synth.physiology.waveform import Samples

FloatArray = npt.NDArray[np.float64]

GRID_HZ = 100.0
SOURCES = np.array([[0.25, 0.55, 0.8], [0.6, -0.4, 0.5]])
"""Directions of two wandering sources; both are strongest in V1, as in patients."""


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
