"""The data contract: what a recording and a window are, in Python, in Parquet and in DuckDB.

All modules take names, units and types from here. Raise ``SCHEMA_VERSION`` when a program with
the old schema could not read the new store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # numpy is only named in annotations: the contract itself imports nothing
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

SCHEMA_VERSION = 1

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


GATE_FLAGS = ("flat", "clipped", "nonfinite")
"""Columns of a window's faults, judged on the source samples; the gate rejects one with any."""


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
    annotations say. A file that holds header and samples, such as an EDF, is a signal file.
    """

    SIGNAL = "signal"
    HEADER = "header"
    ANNOTATION = "annotation"


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
    sizes of the sources were read, just before their hashes.
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
    algorithm_version: int | None = None
    checked_at_ns: int = 0
    sources: tuple[SourceFile, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One row of ``datasets``: what the scan of one data set found.

    ``fingerprint`` is the scan's digest of the files, ``label_source`` the table with the
    labels, ``warnings`` what a reader of results should know. Publication counts the
    recordings.
    """

    dataset: str
    fingerprint: str = ""
    label_source: str | None = None
    warnings: tuple[str, ...] = ()
    scanned_at_ns: int = 0


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """Everything about the ``n`` windows of one recording except their samples, each of length n.

    ``quality`` and ``quality4`` are positions in `Quality`, ``quality4`` -1 where it was not
    computed. NaN in a float column and None in ``rhythm`` mean unknown and are stored as
    NULL.
    """

    start_s: NDArray[np.float64]
    quality: NDArray[np.int8]
    quality4: NDArray[np.int8]
    psqi: NDArray[np.float32]
    ksqi: NDArray[np.float32]
    bassqi: NDArray[np.float32]
    qsqi: NDArray[np.float32]
    hr_max: NDArray[np.float32]
    flat: NDArray[np.bool_]
    clipped: NDArray[np.bool_]
    nonfinite: NDArray[np.bool_]
    rhythm: Sequence[str | None]
    rhythm_share: NDArray[np.float32]


_GATE_VIEW = (
    "CREATE OR REPLACE {kind} passed_windows AS SELECT * FROM windows WHERE NOT ({rejected})"
)


def gate_view_sql(*, temporary: bool = False) -> str:
    """Return the statement that makes the view of windows that the gate does not reject.

    It is part of the index, or ``temporary``: for one connection alone.
    """
    kind = "TEMP VIEW" if temporary else "VIEW"
    return _GATE_VIEW.format(kind=kind, rejected=" OR ".join(GATE_FLAGS))
