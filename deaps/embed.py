"""Representations of windows: of arrays, and of whole data sets in the store."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted
from torch import nn

from deaps.embedding_file import AboutEmbeddings, EmbeddingCounts, writing_embeddings
from deaps.models.encoder_file import load_encoder
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.schema import GATE_FLAGS, WINDOW_SAMPLES
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


class EcgEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Windows to representations: one row for each recording, the mean over its windows.

    Parameters
    ----------
    path
        Encoder file; by default the encoder shipped with the package.
    encoder
        A module to use instead of a file.

    Notes
    -----
    ``transform`` takes (n, w, 1000), as `EcgWindows` gives it, or (n, 1000) for single windows,
    and returns float32 (n, d). Windows that are not finite are left out of the mean; a
    recording without any gives NaN.
    """

    def __init__(
        self, path: str | Path | None = None, *, encoder: torch.nn.Module | None = None
    ) -> None:
        self.path = path
        self.encoder = encoder

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Load the encoder; nothing is learnt from the windows."""
        self._windows(X)
        self.n_features_in_ = WINDOW_SAMPLES
        # A copy: the module that was given stays in the mode that it is in.
        self.encoder_ = (
            load_encoder(self.path) if self.encoder is None else deepcopy(self.encoder).eval()
        )
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return the mean representation of each recording, (n, d)."""
        check_is_fitted(self)
        windows = self._windows(X)
        flat = windows.reshape(-1, WINDOW_SAMPLES)
        usable = np.isfinite(flat).all(axis=1)
        representations = embed_windows(self.encoder_, flat[usable])
        out = np.full((len(flat), representations.shape[1]), np.nan, dtype=np.float32)
        out[usable] = representations
        grouped = out.reshape(*windows.shape[:2], -1)
        counts = usable.reshape(windows.shape[:2]).sum(axis=1)
        sums = np.nansum(grouped, axis=1)
        with np.errstate(invalid="ignore"):
            means = np.where(counts[:, None] > 0, sums / counts[:, None], np.nan)
        return means.astype(np.float32)

    def _windows(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return windows as (n, w, 1000)."""
        array = check_array(
            X, dtype=np.float32, allow_nd=True, ensure_all_finite=False, estimator=self
        )
        if array.ndim not in (2, 3) or array.shape[-1] != WINDOW_SAMPLES:
            raise ValueError(
                f"windows have shape {array.shape}; expected (n, w, {WINDOW_SAMPLES}) "
                f"or (n, {WINDOW_SAMPLES})"
            )
        return np.asarray(array[:, None, :] if array.ndim == 2 else array)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
