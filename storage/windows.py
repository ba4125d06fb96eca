"""One Parquet file a recording: written once, named by its digest, compared when trusted again.

The file is both a table, which DuckDB, pyarrow, polars and pandas read, and an array that is
memory-mapped: the signal lies in it as one contiguous block of float16.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from storage.errors import DeapsError
from storage.files import canonical_json, file_sha256, replacing, window_path
from storage.schema import (
    SCHEMA_VERSION,
    WINDOW_SAMPLES,
    Quality,
    QualityFault,
    RecordingRow,
    RPeaks,
    Sex,
    SourceFile,
    SourceRole,
    Status,
)
from storage.tables import window_columns

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


RECORDING_KEY = b"deaps.recording"
RECORDING_DIGEST_KEY = b"deaps.recording_sha256"
"""Parquet's checksums cover pages, and not the metadata in which the recording's row stands."""
VERSION_KEY = b"deaps.schema_version"
QUALITIES = [str(quality) for quality in Quality]
_NAMES = {"quality_class": QUALITIES, "quality_fault": [str(fault) for fault in QualityFault]}
"""Names of the enumerations of the index whose codes `WindowColumns` have."""
BEAT_COLUMNS = ("beat_offset_s", "beat_trusted", "beat_normal")
"""Columns of window files with a list for each window: its R peaks, as view ``beats`` has them."""

WindowColumns = Mapping[str, Sequence[Any] | NDArray[Any]]
"""What is known of the n windows of a recording besides their samples: arrays (n,) by column.

The columns are those of ``windows`` whose origin is ``file`` (``sql/tables.sql``), without ``row``.
Qualities are positions in `Quality`, reasons in `QualityFault`, -1 for none. NaN among numbers and
None among rhythms mean unknown, and are stored as NULL.
"""

SOURCE_FIELDS = tuple(SourceFile.__slots__)
RECORDING_FIELDS = tuple(name for name in RecordingRow.__slots__ if name != "sources")


class WindowFileError(DeapsError):
    """A window file that is missing, damaged or of another version."""


NO_BEATS = RPeaks(
    np.empty(0, np.intp), np.empty(0, np.float32), np.empty(0, np.bool_), np.empty(0, np.bool_)
)


def write_window_file(
    path: Path,
    columns: WindowColumns,
    signal: NDArray[np.float16],
    recording: RecordingRow,
    beats: RPeaks = NO_BEATS,
) -> RecordingRow:
    """Write one recording's windows and return its row, completed with facts about the file.

    Parameters
    ----------
    path
        ``root / window_path(dataset, name, digest)`` of the recording. An existing file is
        replaced.
    columns, signal
        Facts about each window, and the windows, float16 (n, 1000).
    recording
        The row; ``n_windows``, ``rhythms``, ``path``, ``signal_offset``, ``bytes`` and
        ``file_sha256`` are set here.
    beats
        The recording's R peaks.
    """
    full_name = f"{recording.dataset}/{recording.name}"
    relative = window_path(recording.dataset, recording.name, recording.digest or "")
    if not path.as_posix().endswith("/" + relative):
        raise ValueError(f"{full_name}: path is {path}; expected <store>/{relative}")
    check_lengths(columns, signal, full_name)
    row = replace(
        recording,
        n_windows=len(signal),
        rhythms=tuple(sorted({label for label in columns["rhythm"] if label})),
        path=relative,
        signal_offset=None,
        bytes=None,
        file_sha256=None,
    )
    table = window_table(columns, signal, row, recording_to_json(_unstamped(row)), beats)
    # If a power cut loses the name, the next scan notices, and the file is made again.
    with replacing(path, fsync_folder=False) as temporary:
        write_table(table, temporary)
        row = _with_file_facts(row, temporary)
        _compare(temporary, row.signal_offset or 0, signal)
    return row


def read_recording_row(path: Path) -> RecordingRow:
    """Return the row of a window file's recording, from the file's footer.

    ``signal_offset``, ``bytes`` and ``file_sha256`` cannot be in the file itself and are
    computed again, so the whole file is read once. Times and inodes of the sources are 0:
    equal windows make equal files on any machine and any day.
    """
    metadata = _metadata(path)
    with _checked_content(path):
        text = metadata.metadata[RECORDING_KEY]
        row = recording_from_json(text)
    # Files of earlier versions have no digest.
    if metadata.metadata.get(RECORDING_DIGEST_KEY, digest := text_digest(text)) != digest:
        raise WindowFileError(f"{path}: the row of its recording was changed")
    return _with_file_facts(row, path)


def check_pages(path: Path) -> None:
    """Raise WindowFileError unless every page agrees with its checksum, and readers can map it.

    Where the samples start is in no page: a changed bit there would move every window.
    """
    import pyarrow.parquet as pq

    with (
        _checked_content(path),
        pq.ParquetFile(path, page_checksum_verification=True) as file,
    ):
        samples = _samples(file.read())
    _compare(path, signal_offset(path), samples)


def read_windows(
    path: Path, columns: tuple[str, ...]
) -> tuple[list[tuple[object, ...]], NDArray[np.float16]]:
    """Return some columns of a file's windows as rows, and their samples, float16 (n, 1000)."""
    import pyarrow.parquet as pq

    with _checked_content(path):
        table = pq.read_table(path, columns=[*columns, "signal"])
        rows = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
        samples = _samples(table)
    return rows, samples.reshape(len(rows), -1)


def _samples(table: pa.Table) -> NDArray[np.float16]:
    """Return the samples of all windows, one after the other."""
    flat: NDArray[np.float16] = (
        table["signal"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    )
    return flat


def signal_offset(path: Path) -> int:
    """Return the byte at which the first window's samples start."""
    return _offset_of(_metadata(path), path)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table so that its last column is one contiguous block of the file.

    ``max_rows_per_page`` matters: pyarrow breaks pages at 20,000 rows, whatever their size.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        table,
        path,
        row_group_size=len(table),
        compression="none",
        use_dictionary=[f.name for f in table.schema if f.type == pa.string()],
        data_page_size=2**30,
        max_rows_per_page=2**31 - 1,
        write_page_checksum=True,
        write_statistics=["row", "start_s"],
    )


def _unstamped(row: RecordingRow) -> RecordingRow:
    """Return the row without times, inodes, scoring and whose it is: equal windows, equal files.

    Who was recorded is for tables to say, which may change without the signal.
    """
    bare = (
        replace(source, mtime_ns=0, ctime_ns=0, inode=0)
        for source in row.sources
        if source.role != SourceRole.SCORING
    )
    return replace(
        row,
        subject="",
        visit=1,
        checked_at_ns=0,
        scoring_digest=None,
        scoring_notes=(),
        sources=tuple(bare),
    )


def _metadata(path: Path) -> pq.FileMetaData:
    import pyarrow.parquet as pq

    with _checked_content(path):
        metadata = pq.read_metadata(path)
        version = (metadata.metadata or {}).get(VERSION_KEY, b"none").decode()
    if version != str(SCHEMA_VERSION):
        message = f"{path} has schema version {version}; this program reads {SCHEMA_VERSION}"
        raise WindowFileError(message)
    return metadata


@contextlib.contextmanager
def _checked_content(path: Path) -> Iterator[None]:
    """Raise WindowFileError for what is wrong with a file's content.

    Errors of the system, such as a missing permission, stay as they are. They have a number,
    whereas those that pyarrow raises for damaged content have none.
    """
    import pyarrow as pa

    wrong_content = (pa.ArrowException, AttributeError, LookupError, TypeError, ValueError)
    try:
        yield
    except (OSError, *wrong_content) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).strip() or type(error).__name__
        raise WindowFileError(f"{path} is no whole window file: {reason}") from error


def _offset_of(metadata: pq.FileMetaData, path: Path) -> int:
    if metadata.num_row_groups != 1:
        raise WindowFileError(f"{path} has {metadata.num_row_groups} row groups; expected 1")
    chunk = metadata.row_group(0).column(metadata.num_columns - 1)
    # The values are the last thing in the column's only page; page header and levels precede.
    return int(chunk.data_page_offset + chunk.total_compressed_size - 2 * chunk.num_values)


def _with_file_facts(row: RecordingRow, path: Path) -> RecordingRow:
    metadata = _metadata(path)
    if metadata.num_rows != row.n_windows:
        message = f"{path} has {metadata.num_rows} windows; expected {row.n_windows}"
        raise WindowFileError(message)
    return replace(
        row,
        signal_offset=_offset_of(metadata, path),
        bytes=path.stat().st_size,
        file_sha256=file_sha256(path),
    )


def _compare(path: Path, start: int, signal: NDArray[np.float16]) -> None:
    """Map the block as readers will, and compare it with what should be there."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as view:
        stored = view[start : start + signal.nbytes]
    if stored != np.ascontiguousarray(signal).tobytes():
        message = f"{path}: the signal is not one block at byte {start}"
        raise WindowFileError(message)


def window_schema(samples: int = WINDOW_SAMPLES) -> pa.Schema:
    """Return the schema of a window file; ``signal`` is last and holds ``samples`` per window."""
    import pyarrow as pa

    element = pa.field("element", pa.float16(), nullable=False)
    types = {
        "INTEGER": pa.int32(), "DOUBLE": pa.float64(), "FLOAT": pa.float32(), "BOOLEAN": pa.bool_(),
    }  # fmt: skip
    fields = [
        # Enumerations of the index are text in files.
        pa.field(column.name, types.get(column.type, pa.string()), nullable=not column.required)
        for column in window_columns("file")
    ]
    number, flag = (
        pa.field("element", kind, nullable=False) for kind in (pa.float32(), pa.bool_())
    )
    lists = zip(BEAT_COLUMNS, (number, flag, flag), strict=True)
    fields += [pa.field(name, pa.list_(item), nullable=False) for name, item in lists]
    return pa.schema([*fields, pa.field("signal", pa.list_(element, samples), nullable=False)])


def window_table(
    columns: WindowColumns,
    signal: NDArray[np.float16],
    recording: RecordingRow,
    row_json: str,
    beats: RPeaks = NO_BEATS,
) -> pa.Table:
    """Return the table of a window file, with the recording's own row in its metadata."""
    import pyarrow as pa

    schema = window_schema(signal.shape[1])
    flat = pa.array(np.ascontiguousarray(signal).reshape(-1))
    values: dict[str, Any] = {
        "row": pa.array(np.arange(len(signal), dtype=np.int32)),
        "signal": pa.FixedSizeListArray.from_arrays(flat, type=schema.field("signal").type),
    }
    for column in window_columns("file"):
        if column.type in _NAMES:
            codes = np.asarray(columns[column.name])
            values[column.name] = _names(codes, _NAMES[column.type], column.name, recording)
        elif column.type == "rhythm_label":
            labels = [label or None for label in columns[column.name]]
            values[column.name] = pa.array(labels, pa.string())
        elif column.name not in values:
            type_ = schema.field(column.name).type
            array = np.asarray(columns[column.name], type_.to_pandas_dtype())
            values[column.name] = pa.array(array, type_, from_pandas=True)  # NaN becomes NULL
    starts = np.searchsorted(beats.row, np.arange(len(signal) + 1)).astype(np.int32)
    for name, each in zip(BEAT_COLUMNS, (beats.offset_s, beats.trusted, beats.normal), strict=True):
        kind = schema.field(name).type
        values[name] = pa.ListArray.from_arrays(pa.array(starts), pa.array(each), type=kind)
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
    """Raise ValueError unless ``signal`` is float16 (n, 1000), n > 0, and every column has n."""
    if signal.dtype != np.float16 or signal.shape[1:] != (WINDOW_SAMPLES,) or not len(signal):
        message = (
            f"{name}: signal is {signal.dtype} {signal.shape}; "
            f"expected float16 (n, {WINDOW_SAMPLES}) with at least one window"
        )
        raise ValueError(message)
    declared = {column.name for column in window_columns("file")} - {"row"}
    if columns.keys() != declared:
        message = (
            f"{name}: columns are {sorted(columns)}; storage/sql/tables.sql declares "
            f"{sorted(declared)}"
        )
        raise ValueError(message)
    lengths = {column: len(values) for column, values in columns.items()}
    wrong = {field: n for field, n in lengths.items() if n != len(signal)}
    if wrong:
        raise ValueError(f"{name}: signal has {len(signal)} windows, but columns have {wrong}")


def _names(
    codes: NDArray[np.int8], names: Sequence[str], column: str, recording: RecordingRow
) -> pa.Array:
    import pyarrow as pa

    if codes.min() < -1 or codes.max() >= len(names):
        message = (
            f"{recording.dataset}/{recording.name}: codes of {column} run from {codes.min()} to "
            f"{codes.max()}; allowed are -1 (none) to {len(names) - 1} for {list(names)}"
        )
        raise ValueError(message)
    return pa.array(names).take(pa.array(codes.astype(np.int8), mask=codes < 0))


def source_to_dict(source: SourceFile) -> dict[str, Any]:
    """Return a source file's fields by name."""
    return {name: getattr(source, name) for name in SOURCE_FIELDS}


def recording_to_dict(row: RecordingRow) -> dict[str, Any]:
    """Return a row's fields by name, sources included, as JSON holds them.

    Written out because `dataclasses.asdict` takes ten times as long.
    """
    values = {name: getattr(row, name) for name in RECORDING_FIELDS}
    values["notes"] = list(row.notes)
    values["rhythms"] = list(row.rhythms)
    values["scoring_notes"] = list(row.scoring_notes)
    values["sources"] = [source_to_dict(source) for source in row.sources]
    return values


def recording_from_dict(values: Mapping[str, Any]) -> RecordingRow:
    """Return the row that `recording_to_dict` was given."""
    fields = {name: values[name] for name in RECORDING_FIELDS if name in values}
    fields["status"] = Status(fields["status"])
    fields["sex"] = None if fields.get("sex") is None else Sex(fields["sex"])
    fields["notes"] = tuple(fields.get("notes") or ())
    fields["rhythms"] = tuple(fields.get("rhythms") or ())
    fields["scoring_notes"] = tuple(fields.get("scoring_notes") or ())
    sources = tuple(SourceFile(**source) for source in values.get("sources", ()))
    return RecordingRow(**fields, sources=sources)


def recording_to_json(row: RecordingRow) -> str:
    """Return a row as one line of JSON."""
    return canonical_json(recording_to_dict(row))


def recording_from_json(text: str | bytes) -> RecordingRow:
    """Return the row that `recording_to_json` was given."""
    return recording_from_dict(json.loads(text))
