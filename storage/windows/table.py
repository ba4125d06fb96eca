"""The Arrow table of one recording's windows: names, types and order of its columns."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from storage.schema import (
    GATE_FLAGS,
    SCHEMA_VERSION,
    WINDOW_SAMPLES,
    Quality,
    RecordingRow,
    WindowColumns,
)

if TYPE_CHECKING:
    import pyarrow as pa

RECORDING_KEY = b"deaps.recording"
RECORDING_DIGEST_KEY = b"deaps.recording_sha256"
"""Parquet's checksums cover pages, and not the metadata in which the recording's row stands."""

VERSION_KEY = b"deaps.schema_version"
STRING_COLUMNS = ("quality", "quality4", "rhythm")
SCORE_COLUMNS = ("psqi", "ksqi", "bassqi", "qsqi", "hr_max")
RATE_COLUMNS = ("hr_mean", "hr_sd")
QUALITIES = [str(quality) for quality in Quality]


def window_schema(samples: int = WINDOW_SAMPLES) -> pa.Schema:
    """Return the schema of a window file; ``signal`` is last and holds ``samples`` per window."""
    import pyarrow as pa

    element = pa.field("element", pa.float16(), nullable=False)
    return pa.schema(
        [
            pa.field("row", pa.int32(), nullable=False),
            pa.field("start_s", pa.float64(), nullable=False),
            pa.field("quality", pa.string(), nullable=False),
            pa.field("quality4", pa.string()),
            *(pa.field(name, pa.float32()) for name in SCORE_COLUMNS),
            *(pa.field(name, pa.bool_(), nullable=False) for name in GATE_FLAGS),
            pa.field("rhythm", pa.string()),
            pa.field("rhythm_share", pa.float32()),
            *(pa.field(name, pa.float32()) for name in RATE_COLUMNS),
            pa.field("signal", pa.list_(element, samples), nullable=False),
        ]
    )


def window_table(
    columns: WindowColumns, signal: NDArray[np.float16], recording: RecordingRow, row_json: str
) -> pa.Table:
    """Return the table of a window file, with the recording's own row in its metadata."""
    import pyarrow as pa

    schema = window_schema(signal.shape[1])
    flat = pa.array(np.ascontiguousarray(signal).reshape(-1))
    values: dict[str, Any] = {
        "row": pa.array(np.arange(len(signal), dtype=np.int32)),
        "start_s": pa.array(np.asarray(columns.start_s, np.float64)),
        "quality": _quality_names(columns.quality, recording),
        "quality4": _quality_names(columns.quality4, recording),
        "rhythm": pa.array([label or None for label in columns.rhythm], pa.string()),
        "rhythm_share": _nullable(columns.rhythm_share),
        "signal": pa.FixedSizeListArray.from_arrays(flat, type=schema.field("signal").type),
    }
    values |= {name: _nullable(getattr(columns, name)) for name in SCORE_COLUMNS + RATE_COLUMNS}
    values |= {name: pa.array(np.asarray(getattr(columns, name), bool)) for name in GATE_FLAGS}
    metadata = {
        RECORDING_KEY: row_json.encode(),
        RECORDING_DIGEST_KEY: text_digest(row_json.encode()),
        VERSION_KEY: str(SCHEMA_VERSION).encode(),
    }
    ordered = [values[name] for name in schema.names]
    return pa.Table.from_arrays(ordered, schema=schema.with_metadata(metadata))


def text_digest(text: bytes) -> bytes:
    """Return the SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text).hexdigest().encode()


def check_lengths(columns: WindowColumns, signal: NDArray[np.float16], name: str) -> None:
    """Raise ValueError unless ``signal`` is float16 (n, 1000), n > 0, and all columns have n."""
    if signal.dtype != np.float16 or signal.shape[1:] != (WINDOW_SAMPLES,) or not len(signal):
        message = (
            f"{name}: signal is {signal.dtype} {signal.shape}; "
            f"expected float16 (n, {WINDOW_SAMPLES}) with at least one window"
        )
        raise ValueError(message)
    lengths = {field: len(getattr(columns, field)) for field in columns.__slots__}
    wrong = {field: n for field, n in lengths.items() if n != len(signal)}
    if wrong:
        raise ValueError(f"{name}: signal has {len(signal)} windows, but columns have {wrong}")


def _nullable(values: NDArray[np.float32]) -> pa.Array:
    import pyarrow as pa

    return pa.array(np.asarray(values, np.float32), from_pandas=True)  # NaN becomes NULL


def _quality_names(codes: NDArray[np.int8], recording: RecordingRow) -> pa.Array:
    import pyarrow as pa

    codes = np.asarray(codes)
    if codes.min() < -1 or codes.max() >= len(QUALITIES):
        message = (
            f"{recording.dataset}/{recording.name}: quality codes run from {codes.min()} to "
            f"{codes.max()}; allowed are -1 (none) to {len(QUALITIES) - 1} for {QUALITIES}"
        )
        raise ValueError(message)
    return pa.array(QUALITIES).take(pa.array(codes.astype(np.int8), mask=codes < 0))
