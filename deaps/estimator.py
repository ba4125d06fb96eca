"""An encoder as a scikit-learn transformer."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from deaps.embed import embed_windows
from deaps.models.encoder_file import load_encoder
from storage.schema import WINDOW_SAMPLES


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
