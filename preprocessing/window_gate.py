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


_FEW_GLITCHES = 10
"""Samples of a short recording that may lie beyond a rail."""


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
    ``clip_share`` of its samples lie, in runs of at least ``clip_run``, on a rail: the outermost
    value, but for a few glitches, at which the recording stands that often.
    """
    gate = Gate(*(np.zeros(n_windows, dtype=bool) for _ in range(3)))
    finite = np.isfinite(signal)
    values = signal if finite.all() else signal[finite]
    rails = _rails(values, n_least=clip_share * WINDOW_S * fs / 2, run=clip_run)
    for start in range(0, n_windows, _BLOCK):
        stop = min(start + _BLOCK, n_windows)
        block = slice(start, stop)
        samples = _windows(signal, fs, start, stop)
        gate.nonfinite[block] = ~_windows(finite, fs, start, stop).all(axis=1)
        gate.flat[block] = _has_run(samples[:, 1:] == samples[:, :-1], round(flat_s * fs) - 1)
        if rails:
            on_rail = np.logical_or.reduce([samples == rail for rail in rails])
            gate.clipped[block] = _share_in_runs(on_rail, clip_run) >= clip_share
    return gate


def _rails(values: NDArray[np.float32], *, n_least: float, run: int) -> list[np.float32]:
    """Return the lowest and the highest value at which the signal stands, if there are any.

    It stands at a rail for ``run`` samples or more, ``n_least`` samples in all. Samples beyond
    rails, such as spikes of a converter, may be one in a thousand; a value that more samples
    exceed is no limit of an amplifier.
    """
    if values.size == 0 or values.min() == values.max():
        return []
    n_beyond = max(_FEW_GLITCHES, values.size // 1000)
    # Every 64th sample says well enough where the outermost ones begin.
    low, high = np.quantile(values[:: max(1, min(64, values.size // 1000))], (0.01, 0.99))
    rails = []
    for places, order in ((np.flatnonzero(values >= high), -1), (np.flatnonzero(values <= low), 1)):
        extreme = values[places]
        starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
        starts = np.union1d(starts, np.flatnonzero(np.diff(extreme, prepend=np.nan) != 0))
        lengths = np.diff(starts, append=places.size)
        levels, run_of = np.unique(extreme[starts], return_inverse=True)
        counts = np.bincount(run_of, lengths)
        standing = np.bincount(run_of, lengths * (lengths >= run))
        levels, counts, standing = levels[::order], counts[::order], standing[::order]
        beyond = np.cumsum(counts) - counts
        found = np.flatnonzero((standing >= n_least) & (beyond <= n_beyond))
        if found.size:
            rails.append(levels[found[0]])
    return rails


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
