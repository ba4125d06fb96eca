"""A recording as its data set gives it: where it lies, whose it is, its signal and its rhythm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.errors import DeapsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from storage.schema import Sex, SourceRole


MAX_DURATION_S = 7 * 24 * 3600
"""Longest recording that is accepted, in seconds."""
KNOWN_RHYTHMS = frozenset({
    "AB", "AFIB", "AFL", "AT", "B", "BI", "BII", "BIII", "IVR", "J", "N", "NOD", "NSR", "P", "PAT",
    "PREX", "SAB", "SBR", "ST", "SVTA", "T", "VF", "VFL", "VT",
})  # fmt: skip
"""Rhythm codes of PhysioNet's annotation files, without the opening bracket."""


class UnreadableRecordingError(DeapsError):
    """A recording that cannot be read; the message is the reason that people are shown."""


@dataclass(frozen=True, slots=True)
class FoundRecording:
    """A recording found in a data set's folder, not yet read.

    ``files`` are paths relative to the data set's root; the first is the one that is opened. A
    missing file is left out here, and reading reports it.
    """

    dataset: str
    name: str
    subject: str
    visit: int
    files: tuple[tuple[str, SourceRole], ...]


@dataclass(frozen=True, slots=True)
class RhythmChange:
    """From ``start_s`` on the rhythm is ``rhythm`` (None: unknown), until the next change."""

    start_s: float
    rhythm: str | None


@dataclass(frozen=True, slots=True)
class RawRecording:
    """One ECG lead as its source file holds it.

    ``signal`` is float32 in mV, shape (n,), at ``fs`` Hz; it may hold NaN where the source has
    no sample. ``rhythms`` is in order of time, empty where nothing is annotated. ``clock_s`` is
    the time of day at the first sample, in seconds after midnight; the date is never read.
    """

    signal: NDArray[np.float32]
    fs: float
    channel: str
    truncated: bool = False
    sex: Sex | None = None
    age: float | None = None
    rhythms: tuple[RhythmChange, ...] = ()
    notes: tuple[str, ...] = ()
    clock_s: float | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What a cohort table says about one recording."""

    sex: Sex | None = None
    age: float | None = None
    label: str | None = None
    rhythm: str | None = None
    split: str | None = None


@dataclass(frozen=True, slots=True)
class CohortTables:
    """What a data set's tables say about its recordings, by name.

    ``source`` is the name of the label file; ``warnings`` say what is missing; ``understood`` says
    how a table was read that people write in many ways.
    """

    facts: dict[str, Facts]
    source: str | None = None
    warnings: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()


NO_TABLES = CohortTables({})


def rhythm_changes(
    texts: Iterable[tuple[float, str]],
) -> tuple[tuple[RhythmChange, ...], tuple[str, ...]]:
    """Return the rhythm changes among annotations (seconds, text), and notes on odd ones.

    Texts end with a NUL in the files; only those with an opening bracket name a rhythm.
    """
    changes, n_unknown = [], 0
    for time_s, raw in texts:
        note = raw.rstrip("\0").strip()
        if not note.startswith("("):
            continue
        rhythm = note[1:]
        if rhythm not in KNOWN_RHYTHMS:
            n_unknown += 1
        changes.append(RhythmChange(time_s, rhythm if rhythm in KNOWN_RHYTHMS else None))
    # Not quoted: it is free text, which may name people.
    notes = [f"unknown rhythm ({n_unknown}x): label left out"] if n_unknown else []
    return tuple(sorted(changes, key=lambda change: change.start_s)), tuple(notes)
