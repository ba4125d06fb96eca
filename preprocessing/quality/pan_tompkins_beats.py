"""R peaks by SleepECG's compiled Pan & Tompkins detector, over a whole recording.

It differs from `gradient_beats` in all that matters for a second opinion: a 5-30 Hz band-pass,
squared slopes, and thresholds that adapt from beat to beat across the windows' borders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sleepecg import detect_heartbeats

from storage.schema import FS, WINDOW_SAMPLES

PIECE_WINDOWS = 60
"""The recording is searched in pieces of this many windows: ten minutes.

SleepECG's look at past RR intervals can go back to the first one, so that noise makes its time
grow faster than the length (a night of noise: 1.3 s whole, 0.2 s in pieces), and its work arrays
take 40 bytes a sample. Pieces bound both.
"""

MARGIN_WINDOWS = 1
"""Each piece is searched with so many windows before and after it, to let thresholds settle."""

FEWEST_BEATS = 3
"""Windows with fewer beats, a rate below 18/min, are searched once more by themselves.

After a large artefact SleepECG can miss all beats to the end of the signal: its search for missed
beats halves the thresholds 15 times at most, the one on the integrated signal grows with the
square of the amplitude, and only a found beat brings it down. Six bursts of noise (60 standard
deviations, 3 s) in each half hour of 33 PAF Prediction records silenced 29 % of the clean windows,
21 % in pieces of ten minutes, and 0.1 % with the second search.
"""

LEARNING_SAMPLES = 2 * FS
"""SleepECG reads this many samples without checking that there are as many."""


def find_beats(windows: NDArray[np.floating]) -> NDArray[np.intp]:
    """R peaks of a recording, as ascending indices into ``windows.ravel()``.

    Parameters
    ----------
    windows
        Shape (n, 1000), at 100 Hz: consecutive windows of one recording, in order.
    """
    if not len(windows):
        return np.empty(0, dtype=np.intp)
    starts = range(0, len(windows), PIECE_WINDOWS)
    beats = np.concatenate([_find_in_piece(windows, start) for start in starts])
    return _search_again(windows, beats)


def _find_in_piece(windows: NDArray[np.floating], start: int) -> NDArray[np.intp]:
    """Find the beats of the piece that begins at window ``start``."""
    stop = min(start + PIECE_WINDOWS, len(windows))
    before = max(start - MARGIN_WINDOWS, 0)
    signal = windows[before : stop + MARGIN_WINDOWS].astype(np.float64).ravel()
    beats = _detect(signal) + before * WINDOW_SAMPLES
    inside = (beats >= start * WINDOW_SAMPLES) & (beats < stop * WINDOW_SAMPLES)
    return beats[inside]


def _search_again(windows: NDArray[np.floating], beats: NDArray[np.intp]) -> NDArray[np.intp]:
    """Replace the beats of windows that have next to none."""
    window = beats // WINDOW_SAMPLES
    silent = np.bincount(window, minlength=len(windows)) < FEWEST_BEATS
    again = [
        _detect(windows[at].astype(np.float64)) + at * WINDOW_SAMPLES
        for at in np.flatnonzero(silent)
    ]
    return np.sort(np.concatenate([beats[~silent[window]], *again]))


def _detect(signal: NDArray[np.float64]) -> NDArray[np.intp]:
    """SleepECG's beats, none where too little of the signal is left after a flat start.

    SleepECG skips a flat start. It then refuses an empty rest, and of a rest shorter than its
    learning phase it reads past the end of the array.
    """
    moves = np.flatnonzero(signal != signal[0])
    if not moves.size or signal.size - moves[0] < LEARNING_SAMPLES:
        return np.empty(0, dtype=np.intp)
    beats: NDArray[np.intp] = detect_heartbeats(signal, FS).astype(np.intp)
    return beats
