"""Challenge 2017's records: a MATLAB file of int16 samples next to a WFDB header."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preprocessing.channels import ECG_ALIASES, canonical
from preprocessing.formats.wfdb_header import WfdbSignal, file_beside, read_wfdb_header
from preprocessing.plausibility import (
    Claims,
    check_claims,
    checksum_note,
    initial_note,
    length_note,
    millivolts_per,
    require_memory,
)
from preprocessing.recording import RawRecording, UnreadableRecordingError

_DEFAULT_GAIN = 1000.0
_DEFAULT_CHANNEL = "ECG"
_VARIABLE = "val"
_NUMERIC = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "single", "double")
_VERSION_5_HEADER = 128
_COMPRESSED_ELEMENT = 15
_INFLATED_AT_ONCE = 1 << 20


def read_mat_lead(mat_path: Path) -> RawRecording:
    """Return the single lead of ``<record>.mat``; rate and gain come from ``<record>.hea``."""
    header = read_wfdb_header(file_beside(mat_path, f"{mat_path.stem}.hea"))
    if len(header.signals) != 1:
        raise UnreadableRecordingError(f"not one lead: the header has {len(header.signals)}")
    signal = header.signals[0]
    steps_per_mv, baseline, unit_note, gain_note = _calibration(signal)
    values = _load_values(mat_path)
    if values.size == 0:
        raise UnreadableRecordingError("zero length: no samples")
    check_claims(Claims(header.fs, values.size, 1 / steps_per_mv, unit_note is None))
    announced = header.n_samples or values.size
    count_note = length_note(announced, values.size, "samples")
    notes = (gain_note, unit_note, count_note, *_sample_notes(signal, values))
    digital = np.asarray(values, dtype=np.float32)
    return RawRecording(
        signal=(digital - np.float32(baseline)) / np.float32(steps_per_mv),
        fs=header.fs,
        channel=_channel(signal),
        truncated=values.size < announced,
        notes=tuple(note for note in notes if note),
    )


def _calibration(signal: WfdbSignal) -> tuple[float, float, str | None, str | None]:
    """Return digital values per mV, baseline, and notes on unit and gain; no gain means 1000."""
    gain, baseline, unit, gain_note = signal.calibration(default_gain=_DEFAULT_GAIN)
    per_unit, unit_note = millivolts_per(unit)
    return gain / per_unit, baseline, unit_note, gain_note


def _channel(signal: WfdbSignal) -> str:
    """Return the lead's name; a description that is no lead's name may be a person's."""
    return signal.name if canonical(signal.name) in ECG_ALIASES else _DEFAULT_CHANNEL


def _sample_notes(signal: WfdbSignal, values: NDArray[Any]) -> list[str | None]:
    if not np.issubdtype(values.dtype, np.integer):
        return []
    return [
        initial_note(signal.initial, signal.checksum, int(values[0])),
        checksum_note(signal.checksum, int(values.sum(dtype=np.int64))),
    ]


def _load_values(path: Path) -> NDArray[Any]:
    """Return the variable ``val`` as one row, after a look at how large it is."""
    from scipy.io import loadmat, whosmat

    try:
        _check_inflated(path)
        shapes = {name: (shape, kind) for name, shape, kind in whosmat(path)}
        shape, kind = shapes.get(_VARIABLE, ((), ""))
        _check_shape(shape, kind)
        values = loadmat(path, variable_names=[_VARIABLE])[_VARIABLE]
    except (UnreadableRecordingError, FileNotFoundError, PermissionError):
        raise
    except Exception:  # whatever the library raises, its text may quote the file
        raise UnreadableRecordingError("not a MATLAB file with 'val': it is damaged") from None
    if np.iscomplexobj(values) or values.dtype.kind not in "iuf":
        raise UnreadableRecordingError("not one lead: 'val' holds no real numbers")
    return values.reshape(-1)


def _check_shape(shape: tuple[int, ...], kind: str) -> None:
    if not kind:
        raise UnreadableRecordingError("not a MATLAB file with 'val': it has no such variable")
    if kind not in _NUMERIC or len(shape) != 2 or min(shape) > 1:
        raise UnreadableRecordingError(f"not one lead: 'val' is {kind} of shape {shape}")
    require_memory(float(np.prod(shape, dtype=np.float64)) * 8)


def _check_inflated(path: Path) -> None:
    """Raise UnreadableRecordingError if the compressed parts of a file are too large in memory.

    What a compressed part says of its own size is not believed; it is inflated piece by piece.
    """
    require_memory(2 * path.stat().st_size)  # a part of it is copied
    data = path.read_bytes()
    position = _VERSION_5_HEADER
    is_version_5 = data[124:128].endswith((b"IM", b"MI"))
    order = "little" if data[126:128] == b"IM" else "big"
    while is_version_5 and position + 8 <= len(data):
        kind = int.from_bytes(data[position : position + 4], order)  # type: ignore[arg-type]
        size = int.from_bytes(data[position + 4 : position + 8], order)  # type: ignore[arg-type]
        if kind == _COMPRESSED_ELEMENT:
            require_memory(_inflated_bytes(data[position + 8 : position + 8 + size]))
        position += 8 + size


def _inflated_bytes(data: bytes) -> int:
    inflater, total = zlib.decompressobj(), 0
    while data and not inflater.eof:
        total += len(inflater.decompress(data, _INFLATED_AT_ONCE))
        require_memory(total)
        data = inflater.unconsumed_tail
    return total
