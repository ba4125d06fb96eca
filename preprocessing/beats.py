"""Beats of ECG windows, found by two unlike detectors, all windows at once.

`find_gradient_beats` and `find_pan_tompkins_beats` are the detectors; `merge_beats` makes of both
the R peaks of the whole recording, each once and placed between the samples.
"""

from __future__ import annotations

import numpy as np
import scipy.ndimage
import scipy.signal
from numpy.typing import NDArray
from sleepecg import detect_heartbeats

from storage.schema import FS, WINDOW_SAMPLES, RPeaks

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
STEEP_BOTH, STEEP_SECOND, STEEP_FIRST = 0.3, 0.5, 0.3
"""A beat is kept if it is this steep, relative to the beats around it that both detectors found:
one of both, of the second detector alone, of the first alone. Chosen on MIT-ARR: most false beats
are tall P and T waves."""
STEEP_TRUSTED = 0.6
"""A beat of the second detector alone is trusted from this steepness on, near a window's edge."""
NEIGHBOURS, NEIGHBOURS_PERCENTILE = 31, 70
"""The steepness of a beat is compared with this percentile of so many beats around it."""
SAME_BEAT_SAMPLES = FS // 4
"""Of two beats nearer than this, the steeper one is kept: 0.25 s."""
TEMPLATE_HALF, TEMPLATE_REACH, TEMPLATE_BEATS = 8, 4, 512
"""Samples on either side of an R peak in the template, how far a beat is moved to fit it at most,
and how many beats share a template."""
SHAPE_HALF, SHAPE_REACH = FS // 4, 4
"""Samples on either side of an R peak that are correlated with other beats, and with how many
before and after it."""
FEWEST_SHAPES = 3
NN_DEVIATION, NN_BEATS = 0.2, 11
"""An interval is normal-to-normal if it differs from the median of so many around it by at most
this share."""
NN_RANGE_S = (0.3, 2.0)


def find_gradient_beats(
    windows: NDArray[np.float64], slope: NDArray[np.float64] | None = None
) -> Indices:
    """R peaks of all windows, as ascending indices into ``windows.ravel()``.

    Parameters
    ----------
    windows
        Shape (n, 1000), at 100 Hz, high-pass filtered, C-contiguous.
    slope
        What `smooth_slope` returns for them, if it is there already.
    """
    smooth = smooth_slope(windows) if slope is None else slope
    starts, stops = _long_enough(*_complexes(_steep(smooth)))
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


def mean_rate(
    window: Indices, time_s: NDArray[np.float64], n_windows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Heart rate of each window's mean RR interval, and the spread of its rates, shapes (n,).

    In beats/min. The spread is the standard deviation of the rates of the single intervals. NaN
    where a window has fewer than two beats, the spread with fewer than three.
    """
    inside = window[1:] == window[:-1]
    owner, interval = window[1:][inside], np.diff(time_s)[inside]
    count = np.bincount(owner, minlength=n_windows)
    rate = 60.0 / interval
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = 60.0 * count / np.bincount(owner, interval, n_windows)
        middle = np.bincount(owner, rate, n_windows) / count
        squares = np.bincount(owner, np.square(rate - middle[owner]), n_windows)
        spread = np.sqrt(squares / count)
    return mean, np.where(count > 1, spread, np.nan)


def smooth_slope(windows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how steep the signal is around each sample, shape (n, 1000)."""
    slope = np.abs(np.gradient(windows, axis=1))
    # The compiled running mean of NeuroKit2 itself: its rounding decides ties.
    smooth: NDArray[np.float64] = scipy.ndimage.uniform_filter1d(
        slope, SMOOTH_SAMPLES, axis=1, mode="nearest"
    )
    return smooth


def _steep(smooth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each sample is steep compared with its surroundings."""
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


def merge_beats(
    windows: NDArray[np.floating], slope: NDArray[np.floating], first: Indices, second: Indices
) -> RPeaks:
    """Return the R peaks of a recording from those of both detectors.

    A beat that only one found is kept if it is steep enough relative to the beats of both: the
    first detector sees no beat at a window's start, the second one misses some, and both take tall
    P and T waves for beats.

    Parameters
    ----------
    windows, slope
        Consecutive windows of one recording, shape (n, 1000), and their `smooth_slope`.
    first, second
        Beats of `find_gradient_beats` and `find_pan_tompkins_beats`.
    """
    partner = partners(first, second, tolerance=15 * FS // 100)
    alone = np.ones(len(second), dtype=bool)
    alone[partner[partner >= 0]] = False
    groups = (second[~alone], second[alone], first[partner < 0])
    found = np.concatenate(groups)
    kind = np.repeat([0, 1, 2], [len(group) for group in groups])
    steep = _steepness(slope.ravel(), found)
    if len(groups[0]) < FEWEST_BEATS:  # nothing to compare with: neither detector sees a heart
        relative = np.where(kind == 1, 1.0, 0.0)
    else:
        usual = scipy.ndimage.percentile_filter(
            steep[kind == 0], NEIGHBOURS_PERCENTILE, NEIGHBOURS, mode="nearest"
        )
        relative = steep / np.maximum(np.interp(found, groups[0], usual), 1e-12)
    order = np.argsort(found, kind="stable")
    order = order[(relative >= np.array([STEEP_BOTH, STEEP_SECOND, STEEP_FIRST])[kind])[order]]
    order = order[_steepest_apart(found[order], relative[order])]
    found, kind, relative = found[order], kind[order], relative[order]
    hidden = ~away_from_edges(found, 15 * FS // 100) & (kind == 1) & (relative >= STEEP_TRUSTED)
    trusted = (kind == 0) | hidden
    place = _between_samples(windows.reshape(-1), found)
    order = np.argsort(place, kind="stable")
    found, place, trusted = found[order], place[order], trusted[order]
    row = found // WINDOW_SAMPLES
    offset_s = ((place - row * WINDOW_SAMPLES) / FS).astype(np.float32)
    return RPeaks(row, offset_s, trusted, is_normal(place / FS, trusted))


def beat_correlation(
    windows: NDArray[np.floating], peaks: RPeaks, wanted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return how much the beats of some windows resemble others, shape (n,): 1 if they are equal.

    The median over a window's beats of the correlation with the most alike of the four before and
    the four after. Beats of a heart repeat at any rate, also where two kinds take turns; noise does
    not. NaN where a window is not ``wanted``, or has fewer than three beats.
    """
    result = np.full(len(windows), np.nan)
    near = np.convolve(wanted, np.ones(3), mode="same") > 0 if len(wanted) else wanted
    row = peaks.row[near[peaks.row]]
    if len(row) < FEWEST_SHAPES:
        return result
    signal = windows.reshape(-1)
    offset = peaks.offset_s[near[peaks.row]]
    place = row * WINDOW_SAMPLES + np.rint(offset * FS).astype(np.intp)
    place = place.clip(SHAPE_HALF, signal.size - SHAPE_HALF - 1)
    shapes = signal[place[:, None] + np.arange(-SHAPE_HALF, SHAPE_HALF + 1)].astype(np.float64)
    shapes -= shapes.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(shapes).sum(axis=1, keepdims=True))
    np.divide(shapes, size, out=shapes, where=size > 0)
    best = np.full(len(row), -1.0)
    for lag in range(1, min(SHAPE_REACH, len(row) - 1) + 1):
        alike = np.einsum("ij,ij->i", shapes[lag:], shapes[:-lag])
        best[lag:] = np.maximum(best[lag:], alike)
        best[:-lag] = np.maximum(best[:-lag], alike)
    for window in np.flatnonzero(wanted):
        own = best[slice(*np.searchsorted(row, [window, window + 1]))]
        if len(own) >= FEWEST_SHAPES:
            result[window] = np.median(own)
    return result


def partners(first: Indices, second: Indices, tolerance: int) -> Indices:
    """Position in ``second`` of the partner of each of ``first``, -1 where it has none.

    Two beats are partners if each is the other's nearest and they lie at most ``tolerance`` samples
    apart.
    """
    if not (first.size and second.size):
        return np.full(first.size, -1, dtype=np.intp)
    there = _nearest(first, second)
    back = _nearest(second, first)[there]
    mutual = back == np.arange(first.size)
    close = np.abs(second[there] - first) <= tolerance
    return np.where(mutual & close, there, -1)


def _nearest(beats: Indices, others: Indices) -> Indices:
    """Position in ``others`` of the one nearest to each of ``beats``, the earlier of equals."""
    after = np.searchsorted(others, beats).clip(1, max(others.size - 1, 1))
    before = after - 1
    after = np.minimum(after, others.size - 1)
    earlier = np.abs(beats - others[before]) <= np.abs(others[after] - beats)
    return np.where(earlier, before, after)


def away_from_edges(beats: Indices, tolerance: int) -> NDArray[np.bool_]:
    """Whether the first detector could have found a partner on either side of each beat."""
    position = beats % WINDOW_SAMPLES
    inside: NDArray[np.bool_] = (position > DELAY_SAMPLES + tolerance) & (
        position < WINDOW_SAMPLES - tolerance
    )
    return inside


def _steepness(slope: NDArray[np.floating], beats: Indices) -> NDArray[np.float64]:
    """Return the greatest slope within 80 ms of each beat."""
    around = beats[:, None] + np.arange(-8, 9, 2)
    return slope[around.clip(0, slope.size - 1)].max(axis=1, initial=0.0).astype(np.float64)


def _steepest_apart(beats: Indices, steepness: NDArray[np.float64]) -> Indices:
    """Return the places of beats that are apart; of some that are not, the steepest one's."""
    kept = np.arange(len(beats))
    while True:
        near = np.diff(beats[kept]) < SAME_BEAT_SAMPLES
        if not near.any():
            return kept
        steep = steepness[kept]
        first_less = near & (steep[:-1] <= steep[1:])
        second_less = near & ~first_less
        less = np.append(first_less, False) | np.append(False, second_less)
        # One that is less steep than a neighbour goes, unless that neighbour goes itself.
        gone = np.append(first_less & ~less[1:], False)
        gone[1:] |= second_less & ~less[:-1]
        kept = kept[~gone]


def _between_samples(signal: NDArray[np.floating], beats: Indices) -> NDArray[np.float64]:
    """Return the place of each beat, in samples, where it fits the beats around it best.

    The peak of the normalised correlation with their median, by a parabola through three samples.
    100 Hz alone adds 7 ms to RMSSD.
    """
    length, n_lags = 2 * TEMPLATE_HALF + 1, 2 * TEMPLATE_REACH + 1
    margin = TEMPLATE_HALF + TEMPLATE_REACH
    if signal.size <= 2 * margin:
        return beats.astype(np.float64)
    around = np.arange(-margin, margin + 1)
    shifts = np.arange(length)[:, None] + np.arange(n_lags), np.arange(n_lags)
    boxes = np.zeros((len(around), n_lags), np.float32)
    boxes[shifts] = 1 / length
    places = [np.empty(0)]
    for start in range(0, len(beats), TEMPLATE_BEATS):
        part = beats[start : start + TEMPLATE_BEATS].clip(margin, signal.size - margin - 1)
        segments = signal[part[:, None] + around].astype(np.float32)
        segments /= max(np.abs(segments).max(initial=0), np.float32(1e-30))
        spread = np.sqrt((np.square(segments) @ boxes - np.square(segments @ boxes)).clip(1e-9))
        best = np.full(len(part), TEMPLATE_REACH)
        every = np.arange(len(part))
        for _ in range(2):
            template = np.median(
                segments[every[:, None], best[:, None] + np.arange(length)], axis=0
            )
            kernel = np.zeros_like(boxes)
            kernel[shifts] = (template - template.mean())[:, None]
            fit = segments @ kernel / spread
            best = fit.argmax(axis=1)
        inner = best.clip(1, n_lags - 2)
        before, at, after = (fit[every, inner + step] for step in (-1, 0, 1))
        bend = before - 2 * at + after
        shift = np.divide(before - after, 2 * bend, out=np.zeros_like(at), where=bend < 0)
        places.append(part + (inner - TEMPLATE_REACH) + shift.clip(-1, 1).astype(np.float64))
    return np.concatenate(places)


def is_normal(time_s: NDArray[np.float64], trusted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether the interval that ends with each beat is normal-to-normal."""
    normal = np.zeros(len(time_s), dtype=bool)
    if len(time_s) > 1:
        interval = np.diff(time_s)
        usual = scipy.ndimage.median_filter(interval, NN_BEATS, mode="nearest")
        shortest, longest = NN_RANGE_S
        normal[1:] = (
            (np.abs(interval - usual) <= NN_DEVIATION * usual)
            & (interval >= shortest)
            & (interval <= longest)
            & trusted[1:]
            & trusted[:-1]
        )
    return normal
