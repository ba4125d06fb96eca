"""WFDB records: one lead of a .dat file, and the rhythm notes of an .atr file."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np

from preprocessing.channels import ECG_ALIASES, pick_channel
from preprocessing.recording import RawRecording, RhythmChange, UnreadableRecordingError
from preprocessing.rhythm import rhythm_changes
from preprocessing.units import millivolts_per

_BITS_PER_SAMPLE = {
    "8": 8, "16": 16, "24": 24, "32": 32, "61": 16, "80": 8, "160": 16, "212": 12,
    "310": 32 / 3, "311": 32 / 3,
}  # fmt: skip
_COMPRESSED = ("508", "516", "524")
_DEFAULT_GAIN = 200.0


def read_wfdb_lead(
    header_path: Path, aliases: tuple[str, ...] = ECG_ALIASES, *, note_others: bool = True
) -> RawRecording:
    """Return the ECG lead of the record whose ``.hea`` file is given.

    With ``note_others`` a note lists the other ECG leads; a data set with a fixed order of leads
    needs none.

    A signal file that is shorter than its header announces keeps its whole samples and is marked
    ``truncated``. A gain of 0 means the default, 200 units per mV, as WFDB defines.
    """
    import wfdb

    stem = str(header_path.with_suffix(""))
    header = _header(stem)
    index, note = pick_channel(header.sig_name, aliases)
    n_samples, truncated = _available_samples(header, header_path.parent, index)
    record = wfdb.rdrecord(stem, channels=[index], physical=False, sampto=n_samples)
    scale, baseline, unit_note = _calibration(header, index)
    digital = record.d_signal[:, 0]
    signal = ((digital - np.float32(baseline)) * np.float32(scale)).astype(np.float32)
    signal[digital == _missing_value(header.fmt[index])] = np.nan
    return RawRecording(
        signal=signal,
        fs=float(header.fs),
        channel=header.sig_name[index],
        truncated=truncated,
        notes=tuple(n for n in (note if note_others else None, unit_note) if n),
        clock_s=_clock(header.base_time),
    )


def read_rhythms(stem: Path, fs: float) -> tuple[tuple[RhythmChange, ...], tuple[str, ...]]:
    """Return the rhythm changes of ``<stem>.atr`` and notes on unknown ones; empty without it."""
    import wfdb

    if not stem.with_name(stem.name + ".atr").exists():
        return (), ("no annotation file",)
    try:
        annotation = wfdb.rdann(str(stem), "atr")
    except (ValueError, IndexError, KeyError, TypeError) as error:
        return (), (f"annotation file cannot be read ({type(error).__name__}): no labels",)
    return rhythm_changes(annotation.sample, annotation.aux_note, fs)


def header_comments(header_path: Path) -> list[str]:
    """Return the comment lines of a header, without their ``#``."""
    lines = header_path.read_text(encoding="latin-1").splitlines()
    return [line[1:].strip() for line in lines if line.startswith("#")]


def signal_file_names(header_path: Path) -> tuple[str, ...]:
    """Return the signal files that a header names, each once, in order."""
    lines = header_path.read_text(encoding="latin-1").splitlines()
    rows = [line for line in lines if line.strip() and not line.startswith("#")]
    names = (re.split(r"\s", row.strip())[0] for row in rows[1:])
    return tuple(dict.fromkeys(name for name in names if name != "~"))


def _header(stem: str) -> Any:
    import wfdb

    try:
        header = wfdb.rdheader(stem)
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        # The text of the error may quote the header, such as a date.
        raise UnreadableRecordingError(f"not a WFDB header ({type(error).__name__})") from None
    if not header.n_sig:
        raise UnreadableRecordingError("header without its signal file: it names no signal")
    if hasattr(header, "n_seg"):
        raise UnreadableRecordingError("multi-segment record: only its segments can be read")
    if not header.fs or not all(header.sig_name or [None]):
        raise UnreadableRecordingError("not a WFDB header: no rate, or a signal without a name")
    return header


def _clock(time: datetime.time | None) -> float | None:
    """Return the time of day in seconds; None for midnight, which stands for no time."""
    if time is None:
        return None
    return 3600.0 * time.hour + 60 * time.minute + time.second + time.microsecond / 1e6 or None


def _available_samples(header: Any, folder: Path, index: int) -> tuple[int, bool]:
    """Return how many samples the file has, and whether its header announces more."""
    name, fmt = header.file_name[index], header.fmt[index]
    path = folder / name
    if not path.exists():
        raise UnreadableRecordingError(f"header without its signal file: {name}")
    in_file = [i for i, other in enumerate(header.file_name) if other == name]
    per_frame = sum((header.samps_per_frame or [1] * header.n_sig)[i] or 1 for i in in_file)
    if fmt in _COMPRESSED:  # these check their own length
        return int(header.sig_len), False
    if fmt not in _BITS_PER_SAMPLE:
        raise UnreadableRecordingError(f"signal format: {fmt} is unknown")
    offset = (header.byte_offset or [0] * header.n_sig)[index] or 0
    n_bytes = path.stat().st_size - offset
    present = int(n_bytes * 8 / _BITS_PER_SAMPLE[fmt] / per_frame)
    if present <= 0:
        raise UnreadableRecordingError(f"zero length: {name} is empty")
    announced = int(header.sig_len or present)
    return min(present, announced), present < announced


def _calibration(header: Any, index: int) -> tuple[float, float, str | None]:
    gain = header.adc_gain[index] or _DEFAULT_GAIN
    baseline = header.baseline[index]
    if baseline is None:
        baseline = header.adc_zero[index] or 0
    per_unit, note = millivolts_per(header.units[index] or "mV")
    return per_unit / gain, float(baseline), note


def _missing_value(fmt: str) -> int:
    bits = {"212": 12, "310": 10, "311": 10}.get(fmt, int(_BITS_PER_SAMPLE.get(fmt, 16)))
    return int(-(2 ** (bits - 1)))
