"""What a recording claims, held against what can be: memory, length, sampling rate and units."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from preprocessing.channels import printable_label
from preprocessing.recording import MAX_DURATION_S, RawRecording, UnreadableRecordingError
from storage.schema import FS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RATES_HZ = (40.0, 20_000.0)
"""Lowest and highest rate of an ECG; below the lowest, no QRS complex is left."""
MOST_MV = 10_000.0
"""No electrode gives ten volts. Contacts that come loose reach 154 mV in real recordings, and
microvolts that are labelled as mV a few thousand."""
ODD_MV = 500.0
"""Above this a unit or gain is probably wrong."""
LEAST_MV = 1e-3
"""Below this much from end to end a unit or gain is probably wrong; the smallest real standard
deviation was 0.03 mV."""
COARSEST_MV = 100.0
"""Most millivolts from one digital value to the next; real recordings have 0.0005 to 0.02."""
MOST_IN_UNKNOWN_UNIT = 1e9
"""The limit of amplitudes whose unit is unknown: counts of a converter have up to 32 bits."""
DEFAULT_READING_BYTES = 1_500_000_000
_CHECKSUM_VALUES = 1 << 16
_reading_bytes: ContextVar[int] = ContextVar(
    "memory for a recording", default=DEFAULT_READING_BYTES
)
_MILLIVOLTS = {
    "V": 1e3, "VOLT": 1e3, "VOLTS": 1e3, "MV": 1.0, "MILLIVOLT": 1.0, "MILLIVOLTS": 1.0,
    "UV": 1e-3, "MICROVOLT": 1e-3, "MICROVOLTS": 1e-3, "NV": 1e-6,
}  # fmt: skip
_MICRO_SIGNS = ("µ", "μ", "\ufffd")
UNKNOWN_UNIT = "unknown unit read as mV"
"""The note on a unit that is no voltage. It does not quote the unit: a header that is out of
place has a name there."""


@contextmanager
def reading_memory(n_bytes: int) -> Iterator[None]:
    """Allow the readers that are called inside ``n_bytes`` of memory for one recording."""
    token = _reading_bytes.set(n_bytes)
    try:
        yield
    finally:
        _reading_bytes.reset(token)


def reading_bytes(n_samples: float, fs: float) -> float:
    """Return the memory that reading and processing a lead takes.

    Measured: 13 bytes for each sample when it is checked, then 4, and 21 for each at 100 Hz while
    it is filtered.
    """
    return n_samples * max(16.0, 6.0 + 22.0 * FS / fs)


def require_memory(n_bytes: float) -> None:
    """Raise UnreadableRecordingError if a recording needs more memory than it may have."""
    most = _reading_bytes.get()
    if n_bytes > most:
        raise UnreadableRecordingError(
            f"memory: reading it takes {n_bytes / 1e6:,.0f} MB, above {most / 1e6:,.0f}; if that "
            "is right, raise execution.recording_megabytes and run deaps preprocess --verify"
        )


@dataclass(frozen=True, slots=True)
class Claims:
    """What a header says about the lead that is read.

    ``n_samples`` is how many of them will be in memory, ``mv_per_step`` what one digital value
    means, None for formats whose library hands out volts.
    """

    fs: float
    n_samples: int
    mv_per_step: float | None = None
    knows_unit: bool = True


def check_claims(claims: Claims) -> None:
    """Check a header before samples are read.

    Raises
    ------
    UnreadableRecordingError
        If no ECG has such a rate, length or gain, or if reading it needs too much memory.
    """
    check_length(claims.n_samples, claims.fs)
    require_memory(reading_bytes(claims.n_samples, claims.fs))
    if claims.mv_per_step is not None:
        _check_step(abs(claims.mv_per_step), claims.knows_unit)


def check_length(n_samples: int, fs: float) -> float:
    """Return the length in seconds of a signal that an ECG could be.

    Raises
    ------
    UnreadableRecordingError
        If no ECG has such a rate or length; resampling it could take hours.
    """
    lowest, highest = RATES_HZ
    if not lowest <= fs <= highest:
        raise UnreadableRecordingError(
            f"sampling rate: {fs:g} Hz is outside {lowest:g} to {highest:g}"
        )
    duration_s = n_samples / fs
    if duration_s > MAX_DURATION_S:
        raise UnreadableRecordingError(
            f"length: {duration_s / 3600:.0f} h is above {MAX_DURATION_S / 3600:.0f} h"
        )
    return duration_s


def check_recording(raw: RawRecording) -> RawRecording:
    """Return the recording as far as it can be an ECG, with notes on what is odd.

    Samples of an impossible amplitude become NaN, so that the gate rejects their windows.

    Raises
    ------
    UnreadableRecordingError
        If its rate, its length or most of its amplitudes are impossible.
    """
    import numpy as np

    check_length(raw.signal.size, raw.fs)
    raw = replace(raw, channel=printable_label(raw.channel))
    is_finite = np.isfinite(raw.signal)
    finite = raw.signal if is_finite.all() else raw.signal[is_finite]
    if finite.size == 0:
        return raw
    most = MOST_IN_UNKNOWN_UNIT if UNKNOWN_UNIT in raw.notes else MOST_MV
    # A million samples say what most of them are; all of a night would take as long as a filter.
    sample = finite[:: max(1, finite.size // 1_000_000)]
    low, middle, high = np.quantile(sample, (0.025, 0.5, 0.975))
    if not high - low <= most:
        raise UnreadableRecordingError(
            f"amplitude: most of its values span {high - low:.3g} mV, above {most:,.0f}; "
            "the header's gain, limits or unit are wrong"
        )
    signal, n_impossible = _without_impossible(raw.signal, float(middle), most)
    notes = [*raw.notes, *_amplitude_notes(finite, float(middle), most)]
    if n_impossible:
        notes.append(f"amplitude: {n_impossible:,} samples beyond {most:,.0f} mV read as missing")
    return replace(raw, signal=signal, notes=tuple(notes))


def checksum_note(header: int | None, actual: int) -> str | None:
    """Return a note where a WFDB checksum disagrees with the samples; 0 means that none is set."""
    if not header or (header - actual) % _CHECKSUM_VALUES == 0:
        return None
    shown = (actual + _CHECKSUM_VALUES // 2) % _CHECKSUM_VALUES - _CHECKSUM_VALUES // 2
    return f"checksum: the header says {header}, the samples give {shown}"


def initial_note(header: int | None, checksum: int | None, actual: int) -> str | None:
    """Return a note where a WFDB initial value disagrees with the first sample.

    Where checksum and initial value are both 0, the writer has set neither.
    """
    if header is None or header == actual or not (header or checksum):
        return None
    return f"initial value: the header says {header}, the first sample is {actual}"


def length_note(announced: int, present: int, what: str) -> str | None:
    """Return a note where a file has more than its header announces; the rest is not read."""
    if present <= announced:
        return None
    return (
        f"more than announced: the header announces {announced:,} {what}, the file has "
        f"{present:,}; the others are not read"
    )


def _check_step(step_mv: float, knows_unit: bool) -> None:
    most = COARSEST_MV if knows_unit else MOST_IN_UNKNOWN_UNIT
    if not 0 < step_mv <= most:  # also refuses NaN
        raise UnreadableRecordingError(
            f"gain: one digital value is {step_mv:.3g} mV, outside 0 to {most:g}; "
            "the header's gain or limits are wrong"
        )


def _without_impossible(
    signal: NDArray[np.float32], middle: float, most: float
) -> tuple[NDArray[np.float32], int]:
    import numpy as np

    with np.errstate(invalid="ignore", over="ignore"):
        impossible = np.abs(signal - np.float32(middle)) > most
    n_impossible = int(np.count_nonzero(impossible))
    if not n_impossible:
        return signal, 0
    return np.where(impossible, np.float32(np.nan), signal), n_impossible


def _amplitude_notes(finite: NDArray[np.float32], middle: float, most: float) -> Iterator[str]:
    lowest, highest = float(finite.min()), float(finite.max())
    if most != MOST_MV:  # the unit is unknown, and so are millivolts
        return
    if ODD_MV < max(highest - middle, middle - lowest) <= most:
        yield f"amplitude: {lowest:.3g} to {highest:.3g} mV; its unit or gain may be wrong"
    if 0 < highest - lowest < LEAST_MV:
        yield f"amplitude: {highest - lowest:.2g} mV from end to end; its unit or gain may be wrong"


def millivolts_per(unit: str) -> tuple[float, str | None]:
    """Return how many mV one ``unit`` is, and a note where the unit is unknown.

    A unit that is not a voltage is read as mV: the stored signal is normalised by its own
    recording, so only ``mean_mv`` and ``std_mv`` depend on it.
    """
    key = unit.strip(" \0\t")  # no other sign that looks like a space: it is damage
    for sign in _MICRO_SIGNS:
        key = key.replace(sign, "u")
    scale = _MILLIVOLTS.get(key.upper())
    return (1.0, UNKNOWN_UNIT) if scale is None else (scale, None)
