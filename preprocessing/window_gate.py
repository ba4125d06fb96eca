"""The gate before the quality indices: flat, clipped and non-finite windows.

They are found in the source samples, because any filter hides all three.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from storage.schema import GATE_FLAGS, WINDOW_S

_T = TypeVar("_T", bound=np.generic)

_BLOCK = 128
"""Windows looked at together: enough for numpy to be quick, few enough for little memory."""


@dataclass(frozen=True, slots=True)
class Gate:
    """For each window, whether it is flat, clipped or holds non-finite samples; shape (n,)."""

    flat: NDArray[np.bool_]
    clipped: NDArray[np.bool_]
    nonfinite: NDArray[np.bool_]

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Windows with any of these faults; in SQL, those that ``passed_windows`` leaves out."""
        faults: NDArray[np.bool_] = np.logical_or.reduce([getattr(self, f) for f in GATE_FLAGS])
        return faults


def find_artifacts(
    signal: NDArray[np.float32],
    fs: float,
    n_windows: int,
    *,
    flat_s: float,
    clip_share: float,
    clip_run: int,
) -> Gate:
    """Return which of the first ``n_windows`` windows of a source signal have which fault.

    A window is flat when its samples stay unchanged for ``flat_s`` seconds, clipped when
    ``clip_share`` of its samples lie, in runs of at least ``clip_run``, on the lowest or the
    highest value of the recording.
    """
    gate = Gate(*(np.zeros(n_windows, dtype=bool) for _ in range(3)))
    finite = np.isfinite(signal)
    rails = _rails(signal, finite)
    for start in range(0, n_windows, _BLOCK):
        stop = min(start + _BLOCK, n_windows)
        block = slice(start, stop)
        samples = _windows(signal, fs, start, stop)
        gate.nonfinite[block] = ~_windows(finite, fs, start, stop).all(axis=1)
        gate.flat[block] = _has_run(samples[:, 1:] == samples[:, :-1], round(flat_s * fs) - 1)
        if rails is not None:
            on_rail = (samples <= rails[0]) | (samples >= rails[1])
            gate.clipped[block] = _share_in_runs(on_rail, clip_run) >= clip_share
    return gate


def _rails(
    signal: NDArray[np.float32], finite: NDArray[np.bool_]
) -> tuple[np.float32, np.float32] | None:
    """Return the extreme values, or None for a recording that is constant or empty."""
    values = signal if finite.all() else signal[finite]
    if values.size == 0 or values.min() == values.max():
        return None
    return values.min(), values.max()


def _windows(signal: NDArray[_T], fs: float, start: int, stop: int) -> NDArray[_T]:
    """Return source samples of windows ``start`` to ``stop`` as rows of equal length."""
    length = int(WINDOW_S * fs)
    first = np.rint(np.arange(start, stop) * WINDOW_S * fs).astype(np.int64)
    if float(WINDOW_S * fs).is_integer():
        return signal[first[0] : first[0] + len(first) * length].reshape(len(first), length)
    return signal[np.minimum(first[:, None] + np.arange(length), signal.size - 1)]


def _has_run(mask: NDArray[np.bool_], length: int) -> NDArray[np.bool_]:
    """Return for each row whether it holds ``length`` true values one after the other.

    Such a run covers a whole aligned block of half its length. That is quick to look for and rare;
    only rows with such a block are searched sample by sample.
    """
    has_run = np.zeros(len(mask), dtype=bool)
    half = max(1, length // 2)
    blocks = mask[:, : mask.shape[1] // half * half].reshape(len(mask), -1, half)
    rows = np.flatnonzero(np.any(np.all(blocks, axis=2), axis=1))
    if rows.size and mask.shape[1] >= length:
        count = np.cumsum(np.pad(mask[rows], ((0, 0), (1, 0))), axis=1, dtype=np.int32)
        has_run[rows] = (count[:, length:] - count[:, :-length] == max(1, length)).any(axis=1)
    return has_run


def _share_in_runs(mask: NDArray[np.bool_], length: int) -> NDArray[np.float64]:
    """Return for each row the share of values that lie in runs of at least ``length`` trues."""
    if not mask.any():
        return np.zeros(len(mask))
    views = [mask[:, i : mask.shape[1] - length + 1 + i] for i in range(length)]
    starts = np.logical_and.reduce(views)
    in_run = np.zeros_like(mask)
    for view in (in_run[:, i : mask.shape[1] - length + 1 + i] for i in range(length)):
        view |= starts
    return in_run.mean(axis=1)
