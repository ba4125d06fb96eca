"""The data contract: what a recording and a window are, in Python, in Parquet and in DuckDB.

All modules take names, units and types from here. Raise ``SCHEMA_VERSION`` when a program with
the old schema could not read the new store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # numpy is only named in annotations: the contract itself imports nothing
    import numpy as np
    from numpy.typing import NDArray

SCHEMA_VERSION = 2

FS = 100
"""Sampling rate of every stored signal, in Hz."""

WINDOW_S = 10
"""Length of a window, in seconds."""

WINDOW_SAMPLES = FS * WINDOW_S


class Quality(StrEnum):
    """Zhao & Zhang (2018) class of a window."""

    EXCELLENT = "Excellent"
    BARELY_ACCEPTABLE = "Barely acceptable"
    UNACCEPTABLE = "Unacceptable"


class QualityFault(StrEnum):
    """What keeps a window from being Excellent: a fault of the gate, or an index beyond a limit."""

    FLAT = "flat"
    CLIPPED = "clipped"
    NONFINITE = "nonfinite"
    PSQI_LOW = "psqi_low"
    PSQI_HIGH = "psqi_high"
    KSQI_LOW = "ksqi_low"
    BASSQI_LOW = "bassqi_low"
    QSQI_LOW = "qsqi_low"


GATE_FLAGS = ("flat", "clipped", "nonfinite")
"""Columns of a window's faults, judged on the source samples; the gate rejects one with any."""


class Stage(StrEnum):
    """Sleep stage of the AASM manual, with movement and unscored as scorers mark them."""

    WAKE = "W"
    N1 = "N1"
    N2 = "N2"
    N3 = "N3"
    REM = "REM"
    MOVEMENT = "movement"
    UNSCORED = "unscored"


class OldStage(StrEnum):
    """Sleep stage of Rechtschaffen & Kales (1968), which keeps stages 3 and 4 apart."""

    WAKE = "W"
    S1 = "S1"
    S2 = "S2"
    S3 = "S3"
    S4 = "S4"
    REM = "REM"
    MOVEMENT = "movement"
    UNSCORED = "unscored"


class EventKind(StrEnum):
    """Kinds of scored events that every reader knows; a table of one's own may name others."""

    AROUSAL = "arousal"
    OBSTRUCTIVE_APNEA = "obstructive_apnea"
    CENTRAL_APNEA = "central_apnea"
    MIXED_APNEA = "mixed_apnea"
    HYPOPNEA = "hypopnea"
    DESATURATION = "desaturation"
    EFFORT_AROUSAL = "effort_arousal"
    PERIODIC_BREATHING = "periodic_breathing"
    LIMB_MOVEMENT = "limb_movement"
    ARTIFACT = "artifact"
    OTHER = "other"


COUNTED_EVENTS = (
    EventKind.AROUSAL,
    EventKind.OBSTRUCTIVE_APNEA,
    EventKind.CENTRAL_APNEA,
    EventKind.MIXED_APNEA,
    EventKind.HYPOPNEA,
    EventKind.DESATURATION,
)
"""Kinds whose seconds each window has in a column of its own, such as ``hypopnea_s``."""

EVENT_COLUMNS = tuple(f"{kind}_s" for kind in COUNTED_EVENTS)

BREATHING_EVENTS = (
    EventKind.OBSTRUCTIVE_APNEA,
    EventKind.CENTRAL_APNEA,
    EventKind.MIXED_APNEA,
    EventKind.HYPOPNEA,
)
"""Kinds that count in the apnea-hypopnea index."""


VISIT_NAME = "visit_name"
"""Column of ``subjects`` with what a visit is called, where a table gives it a name."""


class Status(StrEnum):
    """Whether a recording's windows are in the index."""

    OK = "ok"
    QUARANTINED = "quarantined"


class Sex(StrEnum):
    """Sex of a subject, as the cohort's own documents give it."""

    MALE = "male"
    FEMALE = "female"


class SourceRole(StrEnum):
    """What a source file gives to its recording.

    Recordings of one data set with equal signal files are duplicates, whatever their headers and
    annotations say. A file that holds header and samples, such as an EDF, is a signal file. A
    scoring file has sleep stages and events; window files do not depend on it, so a new one
    changes rows of the index and no signal.
    """

    SIGNAL = "signal"
    HEADER = "header"
    ANNOTATION = "annotation"
    SCORING = "scoring"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file that a recording was read from, with its state at that time.

    ``path`` is relative to the data set's root, ``role`` a `SourceRole`.
    """

    path: str
    role: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    sha256: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """Stages and events of one recording, in seconds from its start.

    Stages are spans of one stage each, in order of time and without overlap: arrays (n,).
    ``stage`` and ``old_stage`` are positions in `Stage` and `OldStage`, ``old_stage`` -1 where
    the scorer used the newer names alone. Events are in order of time: arrays (m,), ``kind``
    positions in ``kinds``, ``event_drop`` how far SpO2 falls in a desaturation, in points of per
    cent, NaN if that is not scored. ``notes`` say what a reader of results should know.
    """

    stage_start_s: NDArray[np.float64]
    stage_duration_s: NDArray[np.float64]
    stage: NDArray[np.int8]
    old_stage: NDArray[np.int8]
    event_start_s: NDArray[np.float64]
    event_duration_s: NDArray[np.float64]
    kind: NDArray[np.int16]
    kinds: tuple[str, ...]
    event_drop: NDArray[np.float32]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RPeaks:
    """R peaks of a recording, each once, in order of time; arrays of shape (m,).

    ``row`` is the window of each, ``offset_s`` its time from that window's start, which may lie a
    few ms outside the window. A ``trusted`` beat was found by both detectors, or where one of them
    cannot see. ``normal`` is whether the interval that ends with it is normal-to-normal: between
    trusted beats, and like the intervals around it.
    """

    row: NDArray[np.intp]
    offset_s: NDArray[np.float32]
    trusted: NDArray[np.bool_]
    normal: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RecordingRow:
    """One row of ``recordings``: a source recording and what was made of it.

    Sex, age, label, rhythm and split are absent here if a cohort table has them: publication
    joins them, so that a new table needs no new windows. ``split`` is the part of the data set
    that the recording belongs to, in that data set's words. ``rhythm`` is that of the whole
    recording and fills its windows without a rhythm of their own. ``std_mv`` is the population
    standard deviation (divisor ``n_samples``). ``rhythms`` are the sorted labels of its
    windows, and ``path`` is relative to the store. The writer of the window file sets those
    two, ``n_windows`` and the three fields after ``path``. ``checked_at_ns`` is when times and
    sizes of the sources were read, just before their hashes. ``clock_s`` is the time of day at
    the recording's start, in seconds after midnight; no date is ever kept. ``scoring_digest``
    names the content of its scoring, None without one, and ``scoring_notes`` are about it;
    window files have neither. ``versions`` are those of all that made its windows, a text such as
    ``reader.wfdb=2 gate=2``; ``scoring_version`` is that of the readers of scorings.
    ``signal_digest`` is that of the lead as it was read, None where it is constant.
    """

    dataset: str
    name: str
    subject: str
    visit: int
    status: Status
    reason: str | None = None
    sex: Sex | None = None
    age: float | None = None
    label: str | None = None
    split: str | None = None
    rhythm: str | None = None
    fs: float | None = None
    duration_s: float | None = None
    channel: str | None = None
    n_windows: int = 0
    dropped_s: float | None = None
    n_samples: int | None = None
    mean_mv: float | None = None
    std_mv: float | None = None
    polarity: float | None = None
    truncated: bool = False
    notes: tuple[str, ...] = ()
    rhythms: tuple[str, ...] = ()
    path: str | None = None
    signal_offset: int | None = None
    bytes: int | None = None
    file_sha256: str | None = None
    digest: str | None = None
    settings_digest: str | None = None
    versions: str | None = None
    signal_digest: str | None = None
    checked_at_ns: int = 0
    clock_s: float | None = None
    scoring_digest: str | None = None
    scoring_notes: tuple[str, ...] = ()
    scoring_version: int | None = None
    sources: tuple[SourceFile, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One row of ``datasets``: what the scan of one data set found.

    ``fingerprint`` is the scan's digest of tables and warnings, ``label_source`` the table with the
    labels, ``warnings`` what a reader of results should know. ``synthetic`` says that no person
    was recorded: ``deaps synth`` wrote it. Publication counts the recordings.
    """

    dataset: str
    fingerprint: str = ""
    label_source: str | None = None
    warnings: tuple[str, ...] = ()
    scanned_at_ns: int = 0
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class SubjectRow:
    """One row of ``subjects``: a subject at one visit, with text from the cohort's tables.

    Publication gives each column of ``values`` a type: whole numbers, numbers or text.
    """

    dataset: str
    subject: str
    visit: int
    values: dict[str, str] = field(default_factory=dict)


_GATE_VIEW = (
    "CREATE OR REPLACE {kind} passed_windows AS SELECT * FROM windows WHERE NOT ({rejected})"
)


def gate_view_sql(*, temporary: bool = False) -> str:
    """Return the statement that makes the view of windows that the gate does not reject.

    It is part of the index, or ``temporary``: for one connection alone.
    """
    kind = "TEMP VIEW" if temporary else "VIEW"
    return _GATE_VIEW.format(kind=kind, rejected=" OR ".join(GATE_FLAGS))
