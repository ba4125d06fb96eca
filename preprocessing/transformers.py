"""The signal chain as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from preprocessing.chain import clean_windows, count_windows
from preprocessing.config import SignalSettings
from storage.schema import WINDOW_SAMPLES


class EcgWindows(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Raw ECG signals to normalised 10 s windows at 100 Hz.

    Parameters
    ----------
    fs
        Rate of the signals, in Hz.

    Notes
    -----
    ``transform`` takes an array (n, samples), or a sequence of n signals of any lengths, and
    returns float32 (n, w, 1000), where w counts the windows of the longest signal. Windows that a
    shorter signal lacks are NaN; a signal under 10 s has NaN alone.
    """

    def __init__(self, fs: float = 100.0) -> None:
        self.fs = fs

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Check the signals; nothing is learnt from them."""
        if not self.fs > 0:
            raise ValueError(f"fs is {self.fs}; expected a rate above 0 Hz")
        _signals(X)
        if isinstance(X, np.ndarray):
            self.n_features_in_ = X.shape[1]
        self.is_fitted_ = True
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the windows of each signal, (n, w, 1000)."""
        check_is_fitted(self)
        windows = [self._windows(signal) for signal in _signals(X)]
        longest = max(1, *(len(w) for w in windows)) if windows else 1
        out = np.full((len(windows), longest, WINDOW_SAMPLES), np.nan, dtype=np.float32)
        for row, present in zip(out, windows, strict=True):
            row[: len(present)] = present
        return out

    def _windows(self, signal: NDArray[np.float32]) -> NDArray[np.float32]:
        if count_windows(signal.size, self.fs) == 0:  # it may be empty, which no filter takes
            return np.empty((0, WINDOW_SAMPLES), np.float32)
        return clean_windows(signal, self.fs, SignalSettings()).windows.astype(np.float32)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _signals(signals: Any) -> Sequence[NDArray[np.float32]]:
    """Return the signals as arrays of float32, one for each recording."""
    if isinstance(signals, (list, tuple)) and signals and np.ndim(signals[0]) == 1:
        lengths = {len(signal) for signal in signals}
        if len(lengths) > 1:
            return [np.asarray(signal, dtype=np.float32) for signal in signals]
    checked = check_array(signals, dtype=np.float32, ensure_all_finite=False)
    return list(checked)
