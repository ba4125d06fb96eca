"""Representations of windows: of arrays, and of whole data sets in the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch import nn

from storage.atomic import replacing
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.snapshot import open_index
from storage.window_store import WindowStore

_CHUNK = 256
"""Windows encoded at once: large enough for the processor, small enough for its cache."""

_READ = 4096
"""Windows read at once."""


def embed_windows(
    encoder: nn.Module, windows: NDArray[np.float32], *, device: torch.device | str = "cpu"
) -> NDArray[np.float32]:
    """Return the representations of ``windows``, (n, 1000) to (n, d), in evaluation mode."""
    encoder = encoder.eval().to(device)
    parts = []
    with torch.inference_mode():
        for start in range(0, max(1, len(windows)), _CHUNK):
            chunk = torch.from_numpy(np.ascontiguousarray(windows[start : start + _CHUNK]))
            parts.append(encoder(chunk.to(device)).float().cpu().numpy())
    return np.concatenate(parts)


def embed_dataset(
    store: Path,
    dataset: str,
    encoder: nn.Module,
    out: Path,
    *,
    normalise: Normalisation = "recording",
    device: torch.device | str = "cpu",
) -> int:
    """Write the representation of every window that passes the gate; return how many.

    The Parquet file has recording_id, row and embedding (float32 list), in that order of ids.
    """
    windows = WindowStore(store, normalise=normalise)
    ids, rows = _passed_windows(store, dataset)
    if len(ids) == 0:
        raise DeapsError(f"no windows of data set {dataset!r} in {store}; run deaps preprocess")
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as temporary:
        writer: pq.ParquetWriter | None = None
        for part in _blocks(len(ids)):
            read = windows.read(ids[part], rows[part])
            representations = embed_windows(encoder, read, device=device)
            table = embedding_table(ids[part], rows[part], representations)
            writer = writer or pq.ParquetWriter(temporary, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return len(ids)


def embedding_table(
    ids: NDArray[np.int32], rows: NDArray[np.int32], embeddings: NDArray[np.float32]
) -> pa.Table:
    """Return representations with their windows' ids as a table."""
    values = pa.array(np.ascontiguousarray(embeddings).reshape(-1))
    return pa.table(
        {
            "recording_id": pa.array(ids, pa.int32()),
            "row": pa.array(rows, pa.int32()),
            "embedding": pa.FixedSizeListArray.from_arrays(values, embeddings.shape[1]),
        }
    )


def _passed_windows(store: Path, dataset: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    sql = """
        SELECT w.recording_id, w."row"
        FROM passed_windows w JOIN recordings r USING (recording_id)
        WHERE r.dataset = $dataset
        ORDER BY ALL
    """
    with open_index(store) as index:
        columns = index.execute(sql, {"dataset": dataset}).fetchnumpy()
    return columns["recording_id"], columns["row"]


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _READ):
        yield slice(start, start + _READ)
