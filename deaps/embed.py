"""Representations of windows: of arrays, and of whole data sets in the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from deaps.embedding_file import AboutEmbeddings, EmbeddingCounts, writing_embeddings
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.schema import GATE_FLAGS
from storage.snapshot import open_index
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_CHUNK = 256
"""Windows encoded at once: large enough for the processor, small enough for its cache."""

_READ = 4096
"""Windows read at once."""

_WINDOWS = """
SELECT r.dataset, r.name AS recording, r.subject, r.visit, w.recording_id, w."row", w.start_s,
       w.quality::VARCHAR AS quality, w.flat, w.clipped, w.nonfinite, w.hr_mean
FROM {view} w JOIN recordings r USING (recording_id)
WHERE r.dataset = $dataset ORDER BY w.recording_id, w."row"
"""
_COUNT = """
SELECT count(*), count(*) FILTER (w.flat OR w.clipped OR w.nonfinite)
FROM windows w JOIN recordings r USING (recording_id) WHERE r.dataset = $dataset
"""
_REJECTED = """
SELECT w.flat, w.clipped, w.nonfinite FROM windows w JOIN recordings r USING (recording_id)
WHERE r.dataset = $dataset AND (w.flat OR w.clipped OR w.nonfinite)
"""

Progress = Callable[[int, int], None]


def embed_windows(
    encoder: nn.Module,
    windows: NDArray[np.float32],
    *,
    device: torch.device | str = "cpu",
    advance: Callable[[int], None] = lambda n: None,
) -> NDArray[np.float32]:
    """Return the representations of ``windows``, (n, 1000) to (n, d), in evaluation mode.

    ``advance`` is called with the number of windows that are done since it was called last.
    """
    encoder = encoder.eval().to(device)
    parts = []
    with torch.inference_mode():
        for start in range(0, max(1, len(windows)), _CHUNK):
            chunk = torch.from_numpy(np.ascontiguousarray(windows[start : start + _CHUNK]))
            parts.append(encoder(chunk.to(device)).float().cpu().numpy())
            advance(len(chunk))
    return np.concatenate(parts)


def embed_dataset(
    store: Path,
    dataset: str,
    encoder: nn.Module,
    out: Path,
    *,
    normalise: Normalisation = "recording",
    device: torch.device | str = "cpu",
    about: AboutEmbeddings | None = None,
    keep_rejected: bool = False,
    progress: Progress = lambda done, total: None,
) -> EmbeddingCounts:
    """Write the representation of every window that passes the gate; return how many.

    The rows are in order of recording and row; see `deaps.embedding_file` for the columns.

    Parameters
    ----------
    keep_rejected
        Write windows that the gate rejects, too.
    progress
        Called with the windows that are done and those in all.
    """
    windows = WindowStore(store, normalise=normalise)
    about = about or AboutEmbeddings(dataset, type(encoder).__name__, "", normalise)
    with open_index(store) as index:
        total, rejected = _count_windows(index, dataset)
        if total == 0:
            raise DeapsError(f"no windows of data set {dataset!r} in {store}; run deaps preprocess")
        wanted = total if keep_rejected else total - rejected
        with writing_embeddings(out, about) as writer:
            if not keep_rejected:
                writer.leave_out(_flags(index, dataset))
            sql = _WINDOWS.format(view="windows" if keep_rejected else "passed_windows")
            for batch in index.sql(sql, params={"dataset": dataset}).to_arrow_reader(_READ):
                ids, rows = (batch[name].to_numpy() for name in ("recording_id", "row"))
                representations = embed_windows(encoder, windows.read(ids, rows), device=device)
                writer.write({name: batch[name] for name in batch.schema.names}, representations)
                progress(writer.n_windows, wanted)
    return EmbeddingCounts(writer.n_windows, writer.n_left_out, dict(writer.left_out))


def _count_windows(index: DuckDBPyConnection, dataset: str) -> tuple[int, int]:
    """Return the windows of a data set, and those among them that the gate rejects."""
    rows = index.execute(_COUNT, {"dataset": dataset}).fetchall()
    ((total, rejected),) = rows
    return int(total), int(rejected)


def _flags(index: DuckDBPyConnection, dataset: str) -> dict[str, NDArray[np.bool_]]:
    """Return the faults of the windows that the gate rejects, by name."""
    columns = index.execute(_REJECTED, {"dataset": dataset}).fetchnumpy()
    return {name: np.asarray(columns[name], bool) for name in GATE_FLAGS}
