"""Rhythms: which one holds when, and the beats that it makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from preprocessing.synth.physiology.people import Course, Subject


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


FloatArray = npt.NDArray[np.float64]
KindArray = npt.NDArray[np.int8]
Pattern = tuple[FloatArray, KindArray]
SHORTEST_RR_S = 0.3


class Rhythm(StrEnum):
    """Rhythms, as the notes of a WFDB annotation spell them after the bracket."""

    SINUS = "N"
    FIBRILLATION = "AFIB"
    FLUTTER = "AFL"
    BIGEMINY = "B"
    TRIGEMINY = "T"
    PACED = "P"
    JUNCTIONAL = "NOD"


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of one rhythm, in seconds from the recording's start; the end is excluded."""

    start_s: float
    end_s: float
    rhythm: Rhythm


@dataclass(frozen=True, slots=True)
class Bout:
    """How much of a recording a passing rhythm takes, and in how many episodes."""

    rhythm: Rhythm
    share: float
    episodes: int


def whole(duration_s: float, rhythm: Rhythm = Rhythm.SINUS) -> tuple[Segment, ...]:
    """Return a recording of one rhythm."""
    return (Segment(0.0, duration_s, rhythm),)


def _split(total: float, parts: int, rng: np.random.Generator) -> list[float]:
    """Return random lengths with the given sum, none below a third of the even share."""
    shares = (rng.dirichlet(np.full(parts, 1.5)) * 2.0 + 1.0 / parts) / 3.0
    return [float(x) for x in total * shares]


def schedule(
    duration_s: float, bouts: Sequence[Bout], rng: np.random.Generator, basis: Rhythm = Rhythm.SINUS
) -> tuple[Segment, ...]:
    """Return the basis rhythm interrupted by every episode of every bout, in random order."""
    episodes = [
        (bout.rhythm, length)
        for bout in bouts
        for length in _split(bout.share * duration_s, bout.episodes, rng)
    ]
    rest = duration_s - sum(length for _, length in episodes)
    gaps = _split(rest, len(episodes) + 1, rng)
    segments: list[Segment] = []
    start = 0.0
    for index in rng.permutation(len(episodes)).tolist():
        rhythm, length = episodes[index]
        onset = start + gaps[len(segments) // 2]
        segments += [Segment(start, onset, basis), Segment(onset, onset + length, rhythm)]
        start = onset + length
    return (*segments, Segment(start, duration_s, basis))


@dataclass(frozen=True, slots=True)
class Beats:
    """R peaks in s, the RR interval before each, and its kind (index into ``KINDS``)."""

    time_s: FloatArray
    rr_s: FloatArray
    kind: KindArray

    def of(self, kind: BeatKind) -> npt.NDArray[np.bool_]:
        """Return which beats are of this kind."""
        return np.asarray(self.kind == KINDS.index(kind))


def _codes(size: int, kind: BeatKind) -> KindArray:
    return np.full(size, KINDS.index(kind), dtype=np.int8)


def _ectopics(pattern: Pattern, share: float, kind: BeatKind, rng: np.random.Generator) -> None:
    """Bring beats forward; after a ventricular one the pause makes up for what was gained."""
    cycles, kinds = pattern
    early = np.flatnonzero(rng.random(len(cycles) - 1) < share)
    early = early[np.diff(early, prepend=-9) > 2]
    gained = rng.normal(0.36, 0.05, len(early)).clip(0.2, 0.48)
    repaid = 1.0 if kind is BeatKind.VENTRICULAR else 0.25
    cycles[early] -= gained
    cycles[early + 1] += repaid * gained
    kinds[early] = KINDS.index(kind)


def _sinus(size: int, subject: Subject, rng: np.random.Generator) -> Pattern:
    pattern = np.ones(size), _codes(size, BeatKind.NORMAL)
    _ectopics(pattern, subject.pac_share, BeatKind.ATRIAL, rng)
    _ectopics(pattern, subject.pvc_share, BeatKind.VENTRICULAR, rng)
    return pattern


def _fibrillation(size: int, subject: Subject, rng: np.random.Generator) -> Pattern:
    cycles = np.exp(rng.normal(-0.03, 0.24, size))
    kinds = _codes(size, BeatKind.FIBRILLATION)
    kinds[rng.random(size) < subject.pvc_share] = KINDS.index(BeatKind.VENTRICULAR)
    return cycles, kinds


def _flutter(size: int, subject: Subject, rng: np.random.Generator) -> Pattern:
    """Return whole numbers of flutter waves between beats; mostly the same number."""
    blocked = np.where(rng.random(size) < 0.85, 4.0, rng.choice([2.0, 3.0, 5.0], size))
    return blocked / 4.0, _codes(size, BeatKind.FIBRILLATION)


def _every(period: int) -> Callable[[int, Subject, np.random.Generator], Pattern]:
    def pattern(size: int, subject: Subject, rng: np.random.Generator) -> Pattern:
        cycles, kinds = np.ones(size), _codes(size, BeatKind.NORMAL)
        late = np.arange(period - 1, size - 1, period)
        gained = rng.normal(0.34, 0.02, len(late))
        cycles[late] -= gained
        cycles[late + 1] += gained
        kinds[late] = KINDS.index(BeatKind.VENTRICULAR)
        return cycles, kinds

    return pattern


def _regular(kind: BeatKind) -> Callable[[int, Subject, np.random.Generator], Pattern]:
    def pattern(size: int, subject: Subject, rng: np.random.Generator) -> Pattern:
        return rng.normal(1.0, 0.004, size), _codes(size, kind)

    return pattern


_PATTERNS: dict[Rhythm, Callable[[int, Subject, np.random.Generator], Pattern]] = {
    Rhythm.SINUS: _sinus,
    Rhythm.FIBRILLATION: _fibrillation,
    Rhythm.FLUTTER: _flutter,
    Rhythm.BIGEMINY: _every(2),
    Rhythm.TRIGEMINY: _every(3),
    Rhythm.PACED: _regular(BeatKind.PACED),
    Rhythm.JUNCTIONAL: _regular(BeatKind.JUNCTIONAL),
}


def _rate(rhythm: Rhythm, subject: Subject, course_rate: FloatArray) -> FloatArray:
    """Return the rate per minute in a rhythm; the atria's own rhythms follow the nerves less."""
    relative = course_rate / subject.rate
    if rhythm is Rhythm.FIBRILLATION:
        return np.asarray(subject.afib_rate * np.sqrt(relative))
    if rhythm is Rhythm.FLUTTER:
        return np.full_like(course_rate, subject.fibrillation_hz * 0.8 * 60.0 / 4.0)
    if rhythm is Rhythm.PACED:
        return np.full_like(course_rate, 70.0)
    if rhythm is Rhythm.JUNCTIONAL:
        return np.asarray(0.8 * subject.rate * np.sqrt(relative))
    return course_rate


def _segment_beats(
    segment: Segment, last_s: float, subject: Subject, course: Course, rng: np.random.Generator
) -> tuple[FloatArray, KindArray]:
    """Return the beats of one segment, the first a cycle after the last beat before it."""
    grid = np.arange(last_s, segment.end_s + 0.25, 0.125)
    rate = _rate(segment.rhythm, subject, course.at("rate", grid))
    phase = np.concatenate([[0.0], np.cumsum(rate[:-1]) * 0.125 / 60.0])
    size = int(phase[-1] * 1.25) + 8
    cycles, kinds = _PATTERNS[segment.rhythm](size, subject, rng)
    shortest = SHORTEST_RR_S * float(rate.mean()) / 60.0
    level = np.cumsum(np.maximum(cycles, shortest))
    time_s = np.interp(level, phase, grid)
    inside = (level < phase[-1]) & (time_s < segment.end_s)
    return time_s[inside], kinds[inside]


def draw_beats(
    segments: Sequence[Segment], subject: Subject, course: Course, rng: np.random.Generator
) -> Beats:
    """Return all beats of a recording. The first falls within its first cycle."""
    last_s = -float(rng.uniform(0.05, 0.6))
    times, kinds = [np.empty(0)], [np.empty(0, dtype=np.int8)]
    for segment in segments:
        time_s, kind = _segment_beats(segment, last_s, subject, course, rng)
        times.append(time_s)
        kinds.append(kind)
        last_s = float(time_s[-1]) if len(time_s) else last_s
    time_s, kind = np.concatenate(times), np.concatenate(kinds)
    recorded = time_s >= 0.0
    rr_s = np.diff(time_s, prepend=time_s[:1] - 60.0 / subject.rate)
    return Beats(time_s[recorded], rr_s[recorded], kind[recorded])
