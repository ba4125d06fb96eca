"""EDF and EDF+: the header, one lead, and the annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from preprocessing.channels import ECG_ALIASES, pick_channel
from preprocessing.formats.numbers import parse_number, signed_24_bits
from preprocessing.plausibility import (
    Claims,
    check_claims,
    length_note,
    millivolts_per,
    reading_bytes,
    require_memory,
)
from preprocessing.recording import MAX_DURATION_S, RawRecording, UnreadableRecordingError
from preprocessing.scoring import EPOCH_S, ScoredEvent, ScoringDraft, StageSpan, kind_of, stage_of
from storage.schema import EventKind, OldStage

_SAMPLE_BYTES = {b"0       ": 2, b"\xffBIOSEMI": 3}
"""Bytes of a sample by the first field of the file."""
_FIXED_BYTES = 256
_ANNOTATIONS = ("EDF Annotations", "BDF Annotations")
_DISCONTINUOUS = (b"EDF+D", b"BDF+D")
_CLOCK = re.compile(rb"(\d\d)[.:](\d\d)[.:](\d\d)")
_TIME_KEEPING = re.compile(rb"([+-]\d{1,15}(?:\.\d{1,15})?)\x14")
_SECONDS = re.compile(rb"[+-]?\d{1,15}(?:\.\d{1,15})?")
_SIGNAL_FIELDS = {
    "label": 16, "transducer": 80, "unit": 8, "physical_min": 8, "physical_max": 8,
    "digital_min": 8, "digital_max": 8, "prefiltering": 80, "samples": 8, "reserved": 32,
}  # fmt: skip
_PLUS = (b"EDF+", b"BDF+")


@dataclass(frozen=True, slots=True)
class EdfHeader:
    """What the header says, apart from the identity fields, which are never read.

    ``n_records`` is -1 where the recorder did not fill it in. ``physical`` and ``digital`` are
    the limits of each signal as text: a field that nobody needs may hold anything. ``clock_s``
    is the time of day at the start, in seconds after midnight; the date is not read.
    """

    n_records: int
    record_s: float
    discontinuous: bool
    labels: tuple[str, ...]
    units: tuple[str, ...]
    physical: tuple[tuple[str, str], ...]
    digital: tuple[tuple[str, str], ...]
    samples: tuple[int, ...]
    clock_s: float | None = None
    sample_bytes: int = 2

    @property
    def header_bytes(self) -> int:
        """Size of the header, from which the data records start."""
        return _header_bytes(len(self.labels))

    @property
    def record_bytes(self) -> int:
        """Size of one data record over all its signals."""
        return self.sample_bytes * sum(self.samples)


def parse_edf_header(data: bytes) -> EdfHeader:
    """Return the header at the start of ``data``.

    Raises
    ------
    UnreadableRecordingError
        If ``data`` does not start with a whole EDF header.
    """
    if not data:
        raise UnreadableRecordingError("zero length: the file is empty")
    if data[:8] not in _SAMPLE_BYTES:
        raise UnreadableRecordingError(
            "not an EDF file: it does not start with the version of EDF or BDF"
        )
    n_signals = _whole(data[252:256], "number of signals")
    if len(data) < _header_bytes(n_signals) or n_signals < 1:
        raise UnreadableRecordingError(f"EDF header: cut short, it announces {n_signals} signals")
    _check_header_bytes(data[184:192], n_signals)
    fields = _signal_fields(data, n_signals)
    return EdfHeader(
        n_records=_whole(data[236:244], "number of data records"),
        record_s=_number(data[244:252], "duration of a data record"),
        discontinuous=data[192:197] in _DISCONTINUOUS,
        labels=tuple(fields["label"]),
        units=tuple(fields["unit"]),
        physical=tuple(zip(fields["physical_min"], fields["physical_max"], strict=True)),
        digital=tuple(zip(fields["digital_min"], fields["digital_max"], strict=True)),
        samples=tuple(_whole(field, "samples per record") for field in fields["samples"]),
        clock_s=_clock(data[176:184]),
        sample_bytes=_SAMPLE_BYTES[data[:8]],
    )


def _header_bytes(n_signals: int) -> int:
    return _FIXED_BYTES * (1 + n_signals)


def _check_header_bytes(field: bytes, n_signals: int) -> None:
    """Refuse a header of another size: every sample would be read from the wrong place."""
    announced, expected = _whole(field, "size of the header"), _header_bytes(n_signals)
    if announced != expected:
        raise UnreadableRecordingError(
            f"EDF header: it says that it has {announced} bytes; with {n_signals} signals it has "
            f"{expected}, so where the samples start is unknown"
        )


def _signal_fields(data: bytes, n_signals: int) -> dict[str, list[str]]:
    fields, offset = {}, _FIXED_BYTES
    for name, width in _SIGNAL_FIELDS.items():
        block = [data[offset + i * width :][:width] for i in range(n_signals)]
        fields[name] = [field.decode("latin-1").strip(" \0") for field in block]
        offset += n_signals * width
    return fields


def _number(field: bytes | str, what: str) -> float:
    text = field.decode("latin-1") if isinstance(field, bytes) else field
    return parse_number(text, f"EDF header: {what}")


def _whole(field: bytes | str, what: str) -> int:
    number = _number(field, what)
    if not number.is_integer():
        raise UnreadableRecordingError(f"EDF header: {what} is {number:g}, not a whole number")
    return int(number)


def _clock(field: bytes) -> float | None:
    """Return the time of day of "hh.mm.ss"; None for midnight, which stands for no time."""
    match = _CLOCK.fullmatch(field)
    if match is None:
        return None
    hours, minutes, seconds = map(int, match.groups())
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return float(3600 * hours + 60 * minutes + seconds) or None


def read_edf_lead(path: Path, aliases: tuple[str, ...] = ECG_ALIASES) -> RawRecording:
    """Return the ECG lead of an EDF, EDF+, BDF or BDF+ file.

    A file that is shorter than its header announces keeps its whole data records and is marked
    ``truncated``; a record count of -1 is derived from the file's size; dates are not read.
    The gaps of a discontinuous file (EDF+D, BDF+D) hold NaN.
    """
    header = read_edf_header(path)
    index, note = pick_channel(header.labels, aliases)
    if header.samples[index] == 0:
        raise UnreadableRecordingError(f"zero length: {header.labels[index]} has no samples")
    n_records, truncated, count_note = _whole_records(header, path.stat().st_size)
    scale, offset, unit_note = _calibration(header, index)
    fs = header.samples[index] / header.record_s
    check_claims(Claims(fs, n_records * header.samples[index], scale, unit_note is None))
    digital = _digital_samples(path, header, index, n_records)
    signal = digital.astype(np.float32)
    signal *= np.float32(scale)
    signal += np.float32(offset)
    if header.discontinuous:
        signal = spread_records(signal, record_onsets(path, header, n_records), fs)
    notes = (note, unit_note, count_note, _limits_note(header, index, digital))
    return RawRecording(
        signal=signal,
        fs=fs,
        channel=header.labels[index],
        truncated=truncated,
        notes=tuple(text for text in notes if text),
        clock_s=header.clock_s,
    )


def read_edf_header(path: Path) -> EdfHeader:
    """Return the header of an EDF file, whose data records have a length."""
    with path.open("rb") as file:
        start = file.read(_FIXED_BYTES)
        header = parse_edf_header(start + file.read(_FIXED_BYTES * _claimed_signals(start)))
    if header.record_s <= 0 or header.record_bytes <= 0 or min(header.samples) < 0:
        raise UnreadableRecordingError(
            f"EDF header: data record of {header.record_s:g} s and {header.record_bytes} bytes"
        )
    return header


def _claimed_signals(start: bytes) -> int:
    claimed = start[252:256].strip()
    return int(claimed) if claimed.isdigit() else 0


def _whole_records(header: EdfHeader, file_bytes: int) -> tuple[int, bool, str | None]:
    """Return how many data records are read, whether some are missing, and a note on more."""
    present = max(0, file_bytes - header.header_bytes) // header.record_bytes
    if present == 0:
        raise UnreadableRecordingError("zero length: the file holds no whole data record")
    if header.n_records < 0:
        return present, False, None
    if header.n_records == 0:
        raise UnreadableRecordingError("zero length: the header announces 0 data records")
    note = length_note(header.n_records, present, "data records")
    return min(present, header.n_records), present < header.n_records, note


def _calibration(header: EdfHeader, index: int) -> tuple[float, float, str | None]:
    """Return scale and offset from digital values to mV, and a note on the unit or None."""
    p_min, p_max = (_number(text, "a physical limit") for text in header.physical[index])
    d_min, d_max = (_number(text, "a digital limit") for text in header.digital[index])
    if p_min == p_max:
        raise UnreadableRecordingError(
            f"physical minimum = maximum: both are {p_min:g}, so mV are unknown"
        )
    if d_min >= d_max:
        raise UnreadableRecordingError(f"digital range: {d_min:g} to {d_max:g}, so mV are unknown")
    per_unit, note = millivolts_per(header.units[index])
    gain = (p_max - p_min) / (d_max - d_min)
    return gain * per_unit, (p_min - gain * d_min) * per_unit, note


def _digital_samples(
    path: Path, header: EdfHeader, index: int, n_records: int
) -> NDArray[np.int16] | NDArray[np.int32]:
    """Return the samples of one signal, from each data record in turn."""
    data = np.ascontiguousarray(_signal_bytes(path, header, index, n_records)).reshape(-1)
    return data.view("<i2") if header.sample_bytes == 2 else signed_24_bits(data)


def _signal_bytes(path: Path, header: EdfHeader, index: int, n_records: int) -> NDArray[np.uint8]:
    """Return one signal's part of each data record, mapped from the file."""
    start = header.sample_bytes * sum(header.samples[:index])
    length = header.sample_bytes * header.samples[index]
    shape = (n_records, header.record_bytes)
    records = np.memmap(path, np.uint8, "r", offset=header.header_bytes, shape=shape)
    return records[:, start : start + length]


def _limits_note(
    header: EdfHeader, index: int, digital: NDArray[np.int16] | NDArray[np.int32]
) -> str | None:
    """Return a note where samples lie outside the digital limits that the header gives."""
    low, high = (_number(text, "a digital limit") for text in header.digital[index])
    if low <= digital.min() and digital.max() <= high:
        return None
    outside = int(np.count_nonzero((digital < low) | (digital > high)))
    return f"digital limits: {outside:,} samples are outside the header's {low:g} to {high:g}"


def record_onsets(path: Path, header: EdfHeader, n_records: int) -> NDArray[np.float64]:
    """Return the start of each data record in seconds, from its first time-keeping annotation."""
    position = next((i for i, label in enumerate(header.labels) if label in _ANNOTATIONS), None)
    if position is None:
        raise UnreadableRecordingError("EDF+D: no annotation signal, so its records have no times")
    return np.array(
        [_onset(row.tobytes()) for row in _signal_bytes(path, header, position, n_records)]
    )


def read_annotations(path: Path) -> Iterator[tuple[float, float | None, str]]:
    """Yield onset, duration (None without) and text of the annotations inside an EDF+ or BDF+.

    Onsets are in seconds after the first sample. What cannot be an annotation is passed over.
    """
    header = read_edf_header(path)
    n_records, _, _ = _whole_records(header, path.stat().st_size)
    origin = None
    for position, label in enumerate(header.labels):
        if label not in _ANNOTATIONS:
            continue
        for record in _signal_bytes(path, header, position, n_records):
            for entry in record.tobytes().split(b"\0"):
                head, *texts = entry.split(b"\x14")
                onset, _, duration = head.partition(b"\x15")
                if not texts or not _SECONDS.fullmatch(onset):
                    continue
                if origin is None:  # each record starts with its own time, the first with that of
                    origin = float(onset)  # the first sample
                length = float(duration) if _SECONDS.fullmatch(duration) else None
                for text in filter(None, texts):
                    yield float(onset) - origin, length, text.decode("utf-8", "replace")


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
    require_memory(reading_bytes(n_samples, fs))
    spread = np.full(n_samples, np.nan, dtype=np.float32)
    spread[(starts[:, None] + np.arange(records.shape[1])).ravel()] = signal
    return spread


def read_edf_annotations(path: Path) -> ScoringDraft | None:
    """Return stages and events of an EDF+ or BDF+ file; None for a plain EDF or BDF.

    A stage without a length is one epoch. A text that names neither a stage nor a known event is
    counted, and neither kept nor quoted: it may name people.
    """
    with path.open("rb") as file:
        if file.read(256)[192:196] not in _PLUS:
            return None
    draft, unknown = ScoringDraft(), 0
    for onset, duration, text in read_annotations(path):
        if (stage := stage_of(text)) is not None:
            length = duration or float(EPOCH_S)
            if isinstance(stage, OldStage):
                draft.add_old_stage(onset, length, stage)
            else:
                draft.stages.append(StageSpan(onset, length, stage))
        elif (kind := kind_of(text)) is not EventKind.OTHER:
            draft.events.append(ScoredEvent(onset, duration or 0.0, kind))
        else:
            unknown += 1
    if unknown:
        draft.notes.append(f"{unknown} annotations in other words: left out")
    return draft
