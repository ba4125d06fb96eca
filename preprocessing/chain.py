"""The chain: from a recording's lead to clean 10 s windows at 100 Hz, upright and normalised.

``process`` has the order: bridge gaps, resample, filter, normalise, cut, gate, turn upright,
score, label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.plausibility import check_length
from preprocessing.quality import QualityScores, score_windows
from preprocessing.recording import RawRecording, RhythmChange
from storage.schema import FS, GATE_FLAGS, WINDOW_S, WINDOW_SAMPLES, Quality, QualityFault, RPeaks

_UNACCEPTABLE = np.int8(list(Quality).index(Quality.UNACCEPTABLE))
_T = TypeVar("_T", bound=np.generic)
_BLOCK = 128
"""Windows looked at together: enough for numpy to be quick, few enough for little memory."""
_FEW_GLITCHES = 10
"""Samples of a short recording that may lie beyond a rail."""
_MAX_DENOMINATOR = 4000
_MAX_DRIFT_S = 1e-3
"""What a window may be off, in seconds, before times are corrected: a tenth of a sample."""
_SINC_TAPS, _SINC_PHASES, _SINC_BLOCK = 32, 2048, 1 << 16


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


@dataclass(frozen=True, slots=True)
class ProcessedRecording:
    """The windows of one recording, with their quality, beats and rhythm.

    ``windows`` is float16 (n, 1000) at 100 Hz, normalised by the recording. In ``scores``, windows
    that the gate rejects are Unacceptable because of the gate.
    """

    windows: NDArray[np.float16]
    gate: Gate
    scores: QualityScores
    peaks: RPeaks
    rhythm: list[str | None]
    rhythm_share: NDArray[np.float32]
    duration_s: float
    n_samples: int
    mean_mv: float
    std_mv: float
    polarity: float

    @property
    def dropped_s(self) -> float:
        """Remainder after the last whole window, in seconds."""
        return self.duration_s - len(self.windows) * WINDOW_S

    def window_columns(self) -> dict[str, Any]:
        """Return what is known of each window, by column of the table ``windows``."""
        columns = {
            name: getattr(part, name)
            for part in (self.scores, self.gate)
            for name in part.__slots__
        }
        return columns | {
            "start_s": np.arange(len(self.windows), dtype=np.float64) * WINDOW_S,
            "rhythm": self.rhythm,
            "rhythm_share": self.rhythm_share,
        }


def process(
    raw: RawRecording, *, signal: SignalSettings, quality: QualitySettings
) -> ProcessedRecording:
    """Return the windows of ``raw``.

    The indices are computed from the stored float16 values, so that anyone can compute them
    again from a window file; windows that the gate rejects are Unacceptable whatever the indices.
    """
    duration_s = check_length(raw.signal.size, raw.fs)
    clean = clean_windows(raw.signal, raw.fs, signal)
    windows, mean_mv = clean.windows, clean.mean
    n_windows = len(windows)
    gate = find_artifacts(
        raw.signal,
        raw.fs,
        n_windows,
        flat_s=quality.flat_s,
        clip_share=quality.clip_share,
        clip_run=quality.clip_run,
    )
    values = windows.astype(np.float32)  # numpy computes slowly in float16
    polarity = polarity_score(values[~gate.rejected])
    if signal.fix_polarity and polarity < 0:
        windows, values, mean_mv = -windows, -values, -mean_mv
    scores, peaks = score_windows(values, beat_tolerance_s=quality.beat_tolerance_s)
    labels, shares = label_windows(raw.rhythms, n_windows)
    return ProcessedRecording(
        windows=windows,
        gate=gate,
        scores=_gated(scores, gate),
        peaks=peaks,
        rhythm=labels,
        rhythm_share=shares,
        duration_s=duration_s,
        n_samples=clean.n_samples,
        mean_mv=mean_mv,
        std_mv=clean.std,
        polarity=polarity,
    )


def _gated(scores: QualityScores, gate: Gate) -> QualityScores:
    """Return the scores with rejected windows Unacceptable, and the gate's fault as the reason."""
    reason = scores.quality_reason
    for flag in reversed(GATE_FLAGS):  # of several faults the first
        fault = np.int8(list(QualityFault).index(QualityFault(flag)))
        reason = np.where(getattr(gate, flag), fault, reason)
    return replace(
        scores,
        quality=np.where(gate.rejected, _UNACCEPTABLE, scores.quality),
        quality4=np.where(gate.rejected, _UNACCEPTABLE, scores.quality4),
        quality3=np.where(gate.rejected, _UNACCEPTABLE, scores.quality3),
        quality_reason=reason,
        reason_value=np.where(gate.rejected, np.float32(np.nan), scores.reason_value),
        reason_limit=np.where(gate.rejected, np.float32(np.nan), scores.reason_limit),
    )


def bridge_gaps(signal: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``signal`` with non-finite samples replaced by straight lines between neighbours.

    One NaN in a forward-backward filter would spoil the whole night. Without any finite sample
    the result is zero.
    """
    finite = np.isfinite(signal)
    if finite.all():
        return signal
    if not finite.any():
        return np.zeros_like(signal)
    bridged = signal.copy()
    gaps = np.flatnonzero(~finite)
    bridged[gaps] = np.interp(gaps, np.flatnonzero(finite), signal[finite])
    return bridged


def resample(signal: NDArray[np.float32], fs: float) -> NDArray[np.float32]:
    """Return ``signal`` at 100 Hz: polyphase, with an anti-alias filter.

    Beyond its ends the signal is taken to continue at its mean, so that an electrode's offset
    makes no step there. A rate that is no small fraction of 100 Hz (199.975 Hz) is resampled by
    the nearest one, and what that would drift, 10 s in a day, is corrected.
    """
    from scipy.signal import resample_poly

    ratio = Fraction(FS / fs).limit_denominator(_MAX_DENOMINATOR)
    resampled = signal
    if ratio != 1:
        resampled = resample_poly(signal, ratio.numerator, ratio.denominator, padtype="mean")
    stretch = float(ratio * Fraction(fs) / FS)  # samples made for each sample at 100 Hz
    if abs(stretch - 1) * resampled.size / FS > _MAX_DRIFT_S:
        resampled = _at_times(resampled, stretch, n_samples=ceil(signal.size * FS / fs - 1e-6))
    return resampled


def _at_times(signal: NDArray[np.float32], step: float, *, n_samples: int) -> NDArray[np.float32]:
    """Return ``signal`` at the places 0, step, 2 step, ...: a windowed sinc of 32 samples.

    ``step`` is nearly 1, so no anti-alias filter is needed.
    """
    half = _SINC_TAPS // 2
    phases = np.arange(_SINC_PHASES + 1)[:, None] / _SINC_PHASES
    distance = np.arange(_SINC_TAPS) - (half - 1) - phases
    taps = np.sinc(distance) * np.i0(9.0 * np.sqrt(np.clip(1 - (distance / half) ** 2, 0, 1)))
    taps = (taps / taps.sum(axis=1, keepdims=True)).astype(np.float32)
    mean = np.float32(signal.mean())
    padded = np.pad(signal - mean, (half - 1, half + 1))
    reach = np.lib.stride_tricks.sliding_window_view(padded, _SINC_TAPS)
    out = np.empty(n_samples, np.float32)
    for start in range(0, n_samples, _SINC_BLOCK):
        places = np.arange(start, min(start + _SINC_BLOCK, n_samples)) * step
        places = np.minimum(places, signal.size - 1)
        whole = places.astype(np.int64)
        phase = np.rint((places - whole) * _SINC_PHASES).astype(np.int64)
        out[start : start + len(places)] = np.einsum("ij,ij->i", reach[whole], taps[phase])
    return out + mean


def highpass(signal: NDArray[np.float32], *, cutoff_hz: float, order: int) -> NDArray[np.float64]:
    """Return ``signal`` without baseline wander: Butterworth, forward and backward, at 100 Hz.

    This is the arithmetic of scipy's ``sosfiltfilt``, which NeuroKit2's cleaning uses, with both
    ends extended by their odd reflection. It is written out because that function holds four
    copies of a night at once, and this one two. Double precision throughout: at 0.5 Hz the poles
    lie so near the unit circle that single precision drifts.
    """
    from scipy.signal import sosfilt

    sections, settled = _butterworth(order, cutoff_hz)
    pad = min(_padding(sections), signal.size - 1)
    extended = _odd_extension(signal, pad)
    forward, _ = sosfilt(sections, extended, zi=settled * extended[0])
    del extended
    backward, _ = sosfilt(sections, forward[::-1], zi=settled * forward[-1])
    del forward
    # Contiguous, because torch and writers of memory maps refuse negative strides.
    return np.ascontiguousarray(backward[::-1][pad : pad + signal.size])


@lru_cache
def _butterworth(order: int, cutoff_hz: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the high-pass as second-order sections, and their state after a long constant."""
    from scipy.signal import butter, sosfilt_zi

    sections = butter(order, cutoff_hz, "highpass", fs=FS, output="sos")
    return sections, sosfilt_zi(sections)


def _padding(sections: NDArray[np.float64]) -> int:
    """Return scipy's choice of padding: three times the filter's length."""
    unused = min((sections[:, 2] == 0).sum(), (sections[:, 5] == 0).sum())
    return 3 * int(2 * len(sections) + 1 - unused)


def _odd_extension(signal: NDArray[np.float32], pad: int) -> NDArray[np.float64]:
    extended = np.empty(signal.size + 2 * pad)
    extended[pad : pad + signal.size] = signal
    if pad:
        extended[:pad] = 2.0 * signal[0] - signal[pad:0:-1]
        extended[-pad:] = 2.0 * signal[-1] - signal[-2 : -pad - 2 : -1]
    return extended


def normalise(signal: NDArray[np.float64]) -> tuple[NDArray[np.float16], float, float]:
    """Return the z-normalised signal as float16, with the mean and deviation that were removed.

    As |z| <= sqrt(n), no recording can overflow float16. A constant signal becomes zero.
    ``signal`` is overwritten, which spares a copy of a whole night.
    """
    mean, std = float(signal.mean()), float(signal.std())
    if std == 0.0:
        return np.zeros(signal.shape, np.float16), mean, std
    signal -= mean
    signal /= std
    return signal.astype(np.float16), mean, std


def polarity_score(windows: NDArray[np.float32]) -> float:
    """Return a score in [-1, 1]: above 0 the tallest deflections point up, below 0 down.

    The median over the windows of (peak - trough) / (peak + trough), both as distances from
    zero; windows are filtered, so zero is the isoelectric line. ``windows`` is (n, 1000).
    """
    if len(windows) == 0:
        return 0.0
    peak = np.maximum(windows.max(axis=1), 0)
    trough = np.maximum(-windows.min(axis=1), 0)
    height = peak + trough
    scores = np.divide(peak - trough, height, out=np.zeros_like(height), where=height > 0)
    return float(np.median(scores))


@dataclass(frozen=True, slots=True)
class CleanWindows:
    """Windows of one signal, float16 (n, 1000) at 100 Hz, and what normalising took away.

    ``n_samples`` is the length at 100 Hz, with the remainder after the last whole window.
    """

    windows: NDArray[np.float16]
    n_samples: int
    mean: float
    std: float


def count_windows(n_samples: int, fs: float) -> int:
    """Return how many whole windows ``n_samples`` at ``fs`` Hz hold."""
    return int(n_samples / fs / WINDOW_S + 1e-9)


def clean_windows(signal: NDArray[np.float32], fs: float, settings: SignalSettings) -> CleanWindows:
    """Return the windows of ``signal``: bridge, resample, high-pass, normalise, cut."""
    filtered = highpass(
        resample(bridge_gaps(signal), fs),
        cutoff_hz=settings.highpass_hz,
        order=settings.highpass_order,
    )
    stored, mean, std = normalise(filtered)
    n_windows = min(count_windows(signal.size, fs), stored.size // WINDOW_SAMPLES)
    windows = stored[: n_windows * WINDOW_SAMPLES].reshape(n_windows, WINDOW_SAMPLES)
    return CleanWindows(windows, stored.size, mean, std)


def label_windows(
    changes: Sequence[RhythmChange], n_windows: int
) -> tuple[list[str | None], NDArray[np.float32]]:
    """Return for each window the rhythm that covers most of it, and the share that it covers.

    Only a label with share 1 describes its whole window. Before the first change the
    rhythm is unknown; where the unknown covers most, the label is None and the share NaN.
    """
    labels: list[str | None] = [None] * n_windows
    shares = np.full(n_windows, np.nan, dtype=np.float32)
    if not changes:
        return labels, shares
    ends = [change.start_s for change in changes[1:]] + [float(n_windows * WINDOW_S)]
    covered: list[dict[str | None, float]] = [{} for _ in range(n_windows)]
    for change, end in zip(changes, ends, strict=True):
        _add_cover(covered, change.rhythm, change.start_s, min(end, n_windows * WINDOW_S))
    for k, cover in enumerate(covered):
        cover[None] = cover.get(None, 0.0) + WINDOW_S - sum(cover.values())
        label = max(cover, key=lambda rhythm: cover[rhythm])
        if label is not None:
            labels[k], shares[k] = label, min(1.0, cover[label] / WINDOW_S)
    return labels, shares


def _add_cover(
    covered: list[dict[str | None, float]], rhythm: str | None, start_s: float, end_s: float
) -> None:
    for k in range(int(start_s // WINDOW_S), int(np.ceil(end_s / WINDOW_S))):
        overlap = min(end_s, (k + 1) * WINDOW_S) - max(start_s, k * WINDOW_S)
        if overlap > 0:
            covered[k][rhythm] = covered[k].get(rhythm, 0.0) + overlap
