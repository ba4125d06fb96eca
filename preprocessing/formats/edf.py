"""EDF files: the header is checked before any sample is read.

Libraries accept truncated files, trailing bytes and absurd calibrations without an error, so the
header is parsed and compared with the file's size here; edfio then reads the one lead. Errors
quote no header bytes: where fields are out of place, they may be a patient's name.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from preprocessing.channels import ECG_ALIASES, pick_channel
from preprocessing.recording import MAX_DURATION_S, RawRecording, UnreadableRecordingError
from preprocessing.units import millivolts_per

_EDF_MAGIC = b"0       "
_FIXED_BYTES = 256
_SAMPLE_BYTES = 2
_ANNOTATIONS = "EDF Annotations"
_CLOCK = re.compile(rb"(\d\d)[.:](\d\d)[.:](\d\d)")
_TIME_KEEPING = re.compile(rb"([+-]\d+(?:\.\d+)?)\x14")
_SIGNAL_FIELDS = {
    "label": 16, "transducer": 80, "unit": 8, "physical_min": 8, "physical_max": 8,
    "digital_min": 8, "digital_max": 8, "prefiltering": 80, "samples": 8, "reserved": 32,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class EdfHeader:
    """What the header says, apart from the identity fields, which are never read.

    ``n_records`` is -1 where the recorder did not fill it in. ``clock_s`` is the time of day at
    the start, in seconds after midnight; the date beside it is not read.
    """

    n_records: int
    record_s: float
    discontinuous: bool
    labels: tuple[str, ...]
    units: tuple[str, ...]
    physical: tuple[tuple[float, float], ...]
    digital: tuple[tuple[float, float], ...]
    samples: tuple[int, ...]
    clock_s: float | None = None

    @property
    def header_bytes(self) -> int:
        """Size of the header, from which the data records start."""
        return _FIXED_BYTES * (1 + len(self.labels))

    @property
    def record_bytes(self) -> int:
        """Size of one data record over all its signals."""
        return _SAMPLE_BYTES * sum(self.samples)


def parse_edf_header(data: bytes) -> EdfHeader:
    """Return the header at the start of ``data``.

    Raises
    ------
    UnreadableRecordingError
        If ``data`` does not start with a whole EDF header.
    """
    if not data:
        raise UnreadableRecordingError("zero length: the file is empty")
    if data[:8] != _EDF_MAGIC:
        raise UnreadableRecordingError("not an EDF file: it does not start with EDF's version")
    n_signals = int(_number(data[252:256], "number of signals"))
    if len(data) < _FIXED_BYTES * (1 + n_signals) or n_signals < 1:
        raise UnreadableRecordingError(f"EDF header: cut short, it announces {n_signals} signals")
    fields = _signal_fields(data, n_signals)
    return EdfHeader(
        n_records=int(_number(data[236:244], "number of data records")),
        record_s=_number(data[244:252], "duration of a data record"),
        discontinuous=data[192:197] == b"EDF+D",
        labels=tuple(field.decode("latin-1").strip() for field in fields["label"]),
        units=tuple(field.decode("latin-1").strip() for field in fields["unit"]),
        physical=_ranges(fields, "physical"),
        digital=_ranges(fields, "digital"),
        samples=tuple(int(_number(f, "samples per record")) for f in fields["samples"]),
        clock_s=_clock(data[176:184]),
    )


def _signal_fields(data: bytes, n_signals: int) -> dict[str, list[bytes]]:
    fields, offset = {}, _FIXED_BYTES
    for name, width in _SIGNAL_FIELDS.items():
        fields[name] = [data[offset + i * width :][:width] for i in range(n_signals)]
        offset += n_signals * width
    return fields


def _ranges(fields: dict[str, list[bytes]], kind: str) -> tuple[tuple[float, float], ...]:
    pairs = zip(fields[f"{kind}_min"], fields[f"{kind}_max"], strict=True)
    return tuple(
        (_number(low, f"{kind} minimum"), _number(high, f"{kind} maximum")) for low, high in pairs
    )


def _clock(field: bytes) -> float | None:
    """Return the time of day of "hh.mm.ss"; None for midnight, which stands for no time."""
    match = _CLOCK.fullmatch(field)
    if match is None:
        return None
    hours, minutes, seconds = map(int, match.groups())
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return float(3600 * hours + 60 * minutes + seconds) or None


def _number(field: bytes, what: str) -> float:
    text = field.decode("latin-1").strip(" \0")
    try:
        return float(text)
    except ValueError:
        raise UnreadableRecordingError(f"EDF header: {what} is not a number") from None


def read_edf_lead(path: Path, aliases: tuple[str, ...] = ECG_ALIASES) -> RawRecording:
    """Return the ECG lead of an EDF or EDF+ file.

    A file that is shorter than its header announces keeps its whole data records and is marked
    ``truncated``; a record count of -1 is derived from the file's size; dates are not read.
    The gaps of a discontinuous file (EDF+D) hold NaN.
    """
    header = _checked_header(path)
    index, note = pick_channel(header.labels, aliases)
    if header.samples[index] == 0:
        raise UnreadableRecordingError(f"zero length: {header.labels[index]} has no samples")
    n_records, truncated = _whole_records(header, path.stat().st_size)
    scale, offset, unit_note = _calibration(header, index)
    digital = _digital_samples(path, header, index)
    signal = digital[: n_records * header.samples[index]].astype(np.float32)
    signal *= np.float32(scale)
    signal += np.float32(offset)
    fs = header.samples[index] / header.record_s
    if header.discontinuous:
        signal = spread_records(signal, record_onsets(path, header, n_records), fs)
    return RawRecording(
        signal=signal,
        fs=fs,
        channel=header.labels[index],
        truncated=truncated,
        notes=tuple(n for n in (note, unit_note) if n),
        clock_s=header.clock_s,
    )


def _checked_header(path: Path) -> EdfHeader:
    with path.open("rb") as file:
        start = file.read(_FIXED_BYTES)
        header = parse_edf_header(start + file.read(_FIXED_BYTES * _claimed_signals(start)))
    if not 0 < header.record_s < math.inf or header.record_bytes <= 0 or min(header.samples) < 0:
        raise UnreadableRecordingError(
            f"EDF header: data record of {header.record_s:g} s and {header.record_bytes} bytes"
        )
    return header


def _claimed_signals(start: bytes) -> int:
    claimed = start[252:256].strip()
    return int(claimed) if claimed.isdigit() else 0


def _whole_records(header: EdfHeader, file_bytes: int) -> tuple[int, bool]:
    present = max(0, file_bytes - header.header_bytes) // header.record_bytes
    if present == 0:
        raise UnreadableRecordingError("zero length: the file holds no whole data record")
    if header.n_records < 0:
        return present, False
    if header.n_records == 0:
        raise UnreadableRecordingError("zero length: the header announces 0 data records")
    return min(present, header.n_records), present < header.n_records


def _calibration(header: EdfHeader, index: int) -> tuple[float, float, str | None]:
    """Return scale and offset from digital values to mV, and a note on the unit or None."""
    (p_min, p_max), (d_min, d_max) = header.physical[index], header.digital[index]
    if p_min == p_max or not np.isfinite([p_min, p_max]).all():
        raise UnreadableRecordingError(
            f"physical minimum = maximum: both are {p_min:g}, so mV are unknown"
        )
    if d_min >= d_max:
        raise UnreadableRecordingError(f"digital range: {d_min:g} to {d_max:g}, so mV are unknown")
    per_unit, note = millivolts_per(header.units[index])
    gain = (p_max - p_min) / (d_max - d_min)
    return gain * per_unit, (p_min - gain * d_min) * per_unit, note


def _digital_samples(path: Path, header: EdfHeader, index: int) -> NDArray[np.int16]:
    # Imported here: a scan that finds nothing to do reads no EDF, and edfio takes 0.2 s.
    import edfio

    with warnings.catch_warnings():
        # Its warnings are about truncation and record count, which are checked above.
        warnings.simplefilter("ignore", UserWarning)
        edf = edfio.read_edf(path, lazy_load_data=True, header_encoding="latin-1")
    # edfio keeps EDF+ annotation signals apart from the others.
    position = index - header.labels[:index].count(_ANNOTATIONS)
    return np.asarray(edf.signals[position].digital)


def record_onsets(path: Path, header: EdfHeader, n_records: int) -> NDArray[np.float64]:
    """Return the start of each data record in seconds, from its first time-keeping annotation."""
    if _ANNOTATIONS not in header.labels:
        raise UnreadableRecordingError("EDF+D: no annotation signal, so its records have no times")
    position = header.labels.index(_ANNOTATIONS)
    start = _SAMPLE_BYTES * sum(header.samples[:position])
    length = _SAMPLE_BYTES * header.samples[position]
    records = np.memmap(
        path, np.uint8, "r", offset=header.header_bytes, shape=(n_records, header.record_bytes)
    )
    return np.array([_onset(row.tobytes()) for row in records[:, start : start + length]])


def _onset(annotations: bytes) -> float:
    match = _TIME_KEEPING.match(annotations)
    if match is None:
        raise UnreadableRecordingError("EDF+D: a data record has no time")
    return float(match.group(1))


def spread_records(
    signal: NDArray[np.float32], onsets: NDArray[np.float64], fs: float
) -> NDArray[np.float32]:
    """Return ``signal`` with its records at their times and NaN between them."""
    records = signal.reshape(len(onsets), -1)
    starts = np.rint((onsets - onsets[0]) * fs).astype(np.int64)
    if (np.diff(starts) < records.shape[1]).any():
        raise UnreadableRecordingError("EDF+D: data records overlap or go back in time")
    n_samples = int(starts[-1]) + records.shape[1]
    if n_samples > MAX_DURATION_S * fs:
        hours, most = n_samples / fs / 3600, MAX_DURATION_S / 3600
        raise UnreadableRecordingError(f"EDF+D: records span {hours:.0f} h, above {most:.0f} h")
    spread = np.full(n_samples, np.nan, dtype=np.float32)
    spread[(starts[:, None] + np.arange(records.shape[1])).ravel()] = signal
    return spread
