"""Embeddings in a Parquet file that stands alone: whose they are, when, how good, and by what.

Columns describe each window; the metadata under `KEY` describe the file, as JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from storage.errors import DeapsError
from storage.files import replacing, require_writable
from storage.schema import GATE_FLAGS

KEY = b"deaps.embeddings"
"""Key of the file's metadata, by which a file of ours is known."""

_TEXT = pa.dictionary(pa.int32(), pa.string())
_COLUMNS = {
    "dataset": _TEXT,
    "recording": _TEXT,
    "subject": _TEXT,
    "visit": pa.int32(),
    "recording_id": pa.int32(),
    "row": pa.int32(),
    "start_s": pa.float64(),
    "quality": _TEXT,
    **{flag: pa.bool_() for flag in GATE_FLAGS},
    "hr_mean": pa.float32(),
}
"""Facts of a window; those that are not known are NULL."""


@dataclass(frozen=True, slots=True)
class AboutEmbeddings:
    """What made a file of embeddings; ``trained`` has what the encoder's own file says.

    Among that is ``synthetic``, whether its training's data were, or None if it does not say.
    """

    source: str
    encoder: str
    encoder_sha256: str
    normalise: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    trained: Mapping[str, str | bool | None] = field(default_factory=dict)
    snapshot: str | None = None
    version: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """Windows that were embedded, and those that were left out, by their faults."""

    n_windows: int = 0
    n_left_out: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        text = f"{self.n_windows:,} windows"
        faults = ", ".join(f"{n:,} {name}" for name, n in self.left_out.items() if n)
        return f"{text}; left out {self.n_left_out:,} ({faults})" if self.n_left_out else text


class EmbeddingWriter:
    """Writes embeddings part by part, and counts the windows that are left out."""

    def __init__(self, path: Path, about: AboutEmbeddings) -> None:
        self._path, self._about = path, about
        self._writer: pq.ParquetWriter | None = None
        self.n_windows = 0
        self.left_out: Counter[str] = Counter()
        self.n_left_out = 0

    def write(self, facts: Mapping[str, Any], embeddings: NDArray[np.float32]) -> None:
        """Add the windows that ``facts`` are about: an array, or one value for all, by column."""
        table = _table(facts, embeddings, self._about)
        self._opened(table.schema).write_table(table)
        self.n_windows += table.num_rows

    def _opened(self, schema: pa.Schema) -> pq.ParquetWriter:
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, schema)
        return self._writer

    def leave_out(self, flags: Mapping[str, NDArray[np.bool_]]) -> None:
        """Count windows that are not written, by their faults; one may have several."""
        for name, values in flags.items():
            self.left_out[name] += int(np.count_nonzero(values))
        self.n_left_out += int(np.count_nonzero(np.any(list(flags.values()), axis=0)))

    def close(self) -> None:
        """Write the metadata, and what was left out among them."""
        empty = _table({}, np.empty((0, 1), np.float32), self._about)
        writer = self._opened(empty.schema)
        about = asdict(self._about) | {
            "n_windows": self.n_windows,
            "n_left_out": self.n_left_out,
            "left_out": dict(self.left_out),
        }
        writer.add_key_value_metadata({KEY.decode(): json.dumps(about)})
        writer.close()


@contextmanager
def writing_embeddings(path: Path, about: AboutEmbeddings) -> Iterator[EmbeddingWriter]:
    """Yield what writes a file of embeddings, which appears whole or not at all."""
    require_ours(path)
    with replacing(path) as temporary:
        writer = EmbeddingWriter(temporary, about)
        yield writer
        writer.close()


def require_ours(path: Path) -> None:
    """Raise DeapsError unless ``path`` is free, or a file that ``deaps embed`` has written.

    An OSError says that nothing can be written there.
    """
    if path.is_dir():
        raise DeapsError(f"{path} is a folder; name a file with --out")
    require_writable(path)
    if not path.exists():
        return
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowInvalid, OSError):
        raise DeapsError(
            f"{path} is not a Parquet file, so it stays; name another with --out"
        ) from None
    if KEY not in metadata and KEY not in (pq.read_metadata(path).metadata or {}):
        raise DeapsError(
            f"{path} was not written by deaps embed, so it stays; name another with --out"
        )


def read_about(path: Path) -> dict[str, Any]:
    """Return what the metadata of a file of embeddings say."""
    metadata = pq.read_metadata(path).metadata or {}
    if KEY not in metadata:
        raise DeapsError(f"{path} was not written by deaps embed")
    about: dict[str, Any] = json.loads(metadata[KEY])
    return about


def _table(
    facts: Mapping[str, Any], embeddings: NDArray[np.float32], about: AboutEmbeddings
) -> pa.Table:
    n, width = embeddings.shape
    columns = {name: _column(facts.get(name), n, kind) for name, kind in _COLUMNS.items()}
    values = pa.array(np.ascontiguousarray(embeddings).reshape(-1))
    return pa.table(
        columns
        | {
            "encoder": _column(about.encoder, n, _TEXT),
            "encoder_sha256": _column(about.encoder_sha256, n, _TEXT),
            "embedding": pa.FixedSizeListArray.from_arrays(values, width),
        }
    )


def _column(value: Any, n: int, kind: pa.DataType) -> pa.Array:
    """Return a column from an array, or from one value for all windows."""
    if value is None or isinstance(value, str | int):
        if kind == _TEXT and value is not None:
            codes = pa.array(np.zeros(n, np.int32))
            return pa.DictionaryArray.from_arrays(codes, pa.array([value], pa.string()))
        return pa.array([value] * n, kind)
    array = value if isinstance(value, pa.Array | pa.ChunkedArray) else pa.array(value)
    if kind == _TEXT:
        return _plain(array).cast(pa.string()).dictionary_encode()
    return _plain(array).cast(kind)


def _plain(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
