"""The signal chain: one raw recording becomes scored, labelled windows.

Order: gate on the source samples; bridge, resample to 100 Hz, high-pass, normalise; cut into
10 s windows on a fixed grid; score what will be stored; label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.plausibility import check_length
from preprocessing.polarity import polarity_score
from preprocessing.quality import QualityScores, score_windows
from preprocessing.recording import RawRecording
from preprocessing.rhythm import label_windows
from preprocessing.window_gate import Gate, find_artifacts
from preprocessing.windows import clean_windows
from storage.schema import WINDOW_S, Quality

_UNACCEPTABLE = np.int8(list(Quality).index(Quality.UNACCEPTABLE))


@dataclass(frozen=True, slots=True)
class ProcessedRecording:
    """The windows of one recording, with their quality and rhythm.

    ``windows`` is float16 (n, 1000) at 100 Hz, normalised by the recording; ``quality`` and
    ``quality4`` are codes into `storage.schema.Quality`, ``quality4`` -1 where not computed.
    """

    windows: NDArray[np.float16]
    gate: Gate
    scores: QualityScores
    quality: NDArray[np.int8]
    quality4: NDArray[np.int8]
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
    scores = score_windows(values, qsqi=quality.qsqi, beat_tolerance_s=quality.beat_tolerance_s)
    labels, shares = label_windows(raw.rhythms, n_windows)
    return ProcessedRecording(
        windows=windows,
        gate=gate,
        scores=scores,
        quality=np.where(gate.rejected, _UNACCEPTABLE, scores.quality),
        quality4=np.where(gate.rejected & (scores.quality4 >= 0), _UNACCEPTABLE, scores.quality4),
        rhythm=labels,
        rhythm_share=shares,
        duration_s=duration_s,
        n_samples=clean.n_samples,
        mean_mv=mean_mv,
        std_mv=clean.std,
        polarity=polarity,
    )
