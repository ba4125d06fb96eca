"""When each rhythm holds: a recording cut into stretches of one rhythm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np


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
