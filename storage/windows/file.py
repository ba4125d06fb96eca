"""The window file: one immutable Parquet file per recording, which is also a mapped array.

The ``signal`` column is uncompressed, without dictionary, in one row group and one data page. So
it is one contiguous block of the file, and the row of a window is enough to find its samples.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from storage.atomic import replacing
from storage.digest import file_sha256
from storage.errors import DeapsError
from storage.layout import window_path
from storage.recording_json import recording_from_json, recording_to_json
from storage.schema import SCHEMA_VERSION, RecordingRow, SourceRole, WindowColumns
from storage.windows.table import (
    RECORDING_DIGEST_KEY,
    RECORDING_KEY,
    STRING_COLUMNS,
    VERSION_KEY,
    check_lengths,
    text_digest,
    window_table,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


class WindowFileError(DeapsError):
    """A window file that is missing, damaged or of another version."""


def write_window_file(
    path: Path, columns: WindowColumns, signal: NDArray[np.float16], recording: RecordingRow
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
    """
    full_name = f"{recording.dataset}/{recording.name}"
    relative = window_path(recording.dataset, recording.name, recording.digest or "")
    if not path.as_posix().endswith("/" + relative):
        raise ValueError(f"{full_name}: path is {path}; expected <store>/{relative}")
    check_lengths(columns, signal, full_name)
    row = replace(
        recording,
        n_windows=len(signal),
        rhythms=tuple(sorted({label for label in columns.rhythm if label})),
        path=relative,
        signal_offset=None,
        bytes=None,
        file_sha256=None,
    )
    table = window_table(columns, signal, row, recording_to_json(_unstamped(row)))
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
    import pyarrow.parquet as pq

    pq.write_table(
        table,
        path,
        row_group_size=len(table),
        compression="none",
        use_dictionary=list(STRING_COLUMNS),
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
