"""Beats of ECG windows, found by two unlike detectors, all windows at once."""

from __future__ import annotations

import numpy as np
import scipy.ndimage
import scipy.signal
from numpy.typing import NDArray
from sleepecg import detect_heartbeats

from storage.schema import FS, WINDOW_SAMPLES

SMOOTH_SAMPLES = FS // 10
"""Length of the average that smooths the steepness: 0.1 s."""
AVERAGE_SAMPLES = 3 * FS // 4
"""Length of the average that the steepness is compared with: 0.75 s."""
STEEP_FACTOR = 1.5
"""A QRS complex is this many times steeper than its surroundings."""
SHORT_FACTOR = 0.4
"""Complexes shorter than this share of the window's mean complex are ignored."""
DELAY_SAMPLES = 3 * FS // 10
"""Beats lie more than this far apart: 0.3 s."""
Indices = NDArray[np.intp]
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


def find_gradient_beats(windows: NDArray[np.float64]) -> Indices:
    """R peaks of all windows, as ascending indices into ``windows.ravel()``.

    Parameters
    ----------
    windows
        Shape (n, 1000), at 100 Hz, high-pass filtered, C-contiguous.
    """
    starts, stops = _long_enough(*_complexes(_steep(windows)))
    peaks = _most_prominent(windows.ravel(), starts, stops)
    return _keep_apart(peaks)


def highest_rate(beats: Indices, n_windows: int) -> NDArray[np.float64]:
    """Heart rate of each window's shortest RR interval, in beats/min, shape (n,).

    NaN where a window has fewer than two beats.
    """
    window = beats // WINDOW_SAMPLES
    inside = window[1:] == window[:-1]
    shortest = np.full(n_windows, np.nan)
    np.fmin.at(shortest, window[1:][inside], np.diff(beats)[inside])
    return 60.0 * FS / shortest


def mean_rate(beats: Indices, n_windows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heart rate of each window's mean RR interval, and the spread of its rates, shapes (n,).

    In beats/min. The spread is the standard deviation of the rates of the single intervals. NaN
    where a window has fewer than two beats, the spread with fewer than three.
    """
    window = beats // WINDOW_SAMPLES
    inside = window[1:] == window[:-1]
    owner, interval = window[1:][inside], np.diff(beats)[inside]
    count = np.bincount(owner, minlength=n_windows)
    rate = 60.0 * FS / interval
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = 60.0 * FS * count / np.bincount(owner, interval, n_windows)
        middle = np.bincount(owner, rate, n_windows) / count
        squares = np.bincount(owner, np.square(rate - middle[owner]), n_windows)
        spread = np.sqrt(squares / count)
    return mean, np.where(count > 1, spread, np.nan)


def _steep(windows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each sample is steep compared with its surroundings."""
    slope = np.abs(np.gradient(windows, axis=1))
    # The compiled running mean of NeuroKit2 itself: its rounding decides ties.
    smooth = scipy.ndimage.uniform_filter1d(slope, SMOOTH_SAMPLES, axis=1, mode="nearest")
    average = scipy.ndimage.uniform_filter1d(smooth, AVERAGE_SAMPLES, axis=1, mode="nearest")
    steep: NDArray[np.bool_] = smooth > STEEP_FACTOR * average
    return steep


def _complexes(steep: NDArray[np.bool_]) -> tuple[Indices, Indices]:
    """First sample of each steep run that lies whole in its window, and the one after its last.

    As in NeuroKit2 a run is shifted by one: from the last sample before it to the one before
    its last.
    """
    flat = steep.ravel()
    change = flat[1:] != flat[:-1]
    change[WINDOW_SAMPLES - 1 :: WINDOW_SAMPLES] = False
    edges = np.flatnonzero(change)
    begins = flat[edges[:-1] + 1]
    ends_inside = edges[:-1] // WINDOW_SAMPLES == edges[1:] // WINDOW_SAMPLES
    whole = begins & ends_inside
    return edges[:-1][whole], edges[1:][whole]


def _long_enough(starts: Indices, stops: Indices) -> tuple[Indices, Indices]:
    """Drop the runs that are much shorter than the mean run of their window."""
    window = starts // WINDOW_SAMPLES
    length = stops - starts
    count = np.bincount(window)
    mean = np.bincount(window, weights=length) / np.maximum(count, 1)
    keep = length >= (mean * SHORT_FACTOR)[window]
    return starts[keep], stops[keep]


def _most_prominent(signal: NDArray[np.float64], starts: Indices, stops: Indices) -> Indices:
    """Find the most prominent local maximum of each run, the first of equals; a slope has none.

    Infinite samples between the runs make one search of all of them equal to one search each:
    prominence is measured up to the next higher sample, so it never leaves a run, and a run's
    outer samples, next to a higher one, are no maxima.
    """
    walled = np.where(_inside(signal.size, starts, stops), signal, np.inf)
    highest = np.finfo(np.float64).max
    peaks, traits = scipy.signal.find_peaks(walled, height=(None, highest), prominence=(None, None))
    run = np.searchsorted(starts, peaks, side="right")
    order = np.lexsort((-traits["prominences"], run))
    first = np.diff(run, prepend=0) > 0  # runs count from one
    best: Indices = peaks[order][first]
    return best


def _inside(size: int, starts: Indices, stops: Indices) -> NDArray[np.bool_]:
    """Mark the samples from each start up to its stop; the runs do not touch."""
    step = np.zeros(size, dtype=np.int8)
    step[starts] = 1
    step[stops] = -1
    return np.cumsum(step, dtype=np.int8).view(np.bool_)


def _keep_apart(peaks: Indices) -> Indices:
    """Keep peaks that come late enough after the last kept one and their window's start."""
    late = peaks[peaks % WINDOW_SAMPLES > DELAY_SAMPLES]
    kept: list[int] = []
    last = -WINDOW_SAMPLES
    # A loop, because each decision depends on the one before; it costs 50 ns a beat.
    for peak in late.tolist():
        if peak - last > DELAY_SAMPLES:
            kept.append(peak)
            last = peak
    return np.array(kept, dtype=np.intp)


def find_pan_tompkins_beats(windows: NDArray[np.floating]) -> NDArray[np.intp]:
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
