"""Baselines that a representation must beat: classical features, and six numbers of the rhythm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sleepecg import detect_heartbeats

from storage.schema import FS, WINDOW_SAMPLES

POINTS = (
    "P_Onsets", "P_Peaks", "P_Offsets", "Q_Peaks", "R_Onsets",
    "R_Offsets", "S_Peaks", "T_Onsets", "T_Peaks", "T_Offsets",
)  # fmt: skip
"""Points of a beat in NeuroKit2's words, without its prefix."""

_FAILURES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What NeuroKit2 raises on windows that it was not made for."""


def find_beats(window: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the samples of the R peaks, ascending; none where NeuroKit2 fails.

    Its own detector wants a signal without drift below 0.5 Hz, as every stored window is.
    """
    try:
        with _neurokit() as nk:
            peaks = nk.ecg_findpeaks(window, sampling_rate=FS, method="neurokit")
    except _FAILURES:
        return np.empty(0, np.int64)
    return np.asarray(peaks["ECG_R_Peaks"], np.int64)


def beat_times(window: NDArray[np.float64], beats: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the times of beats in s, at the top of a parabola through each peak.

    The grid of 10 ms alone would add about 7 ms to RMSSD.
    """
    inner = np.clip(beats, 1, len(window) - 2)
    before, at, after = (window[inner + k] for k in (-1, 0, 1))
    bend = before - 2 * at + after
    peaked = bend < 0
    shift = np.where(peaked, 0.5 * (before - after) / np.where(peaked, bend, 1.0), 0.0)
    return np.asarray((beats + np.clip(shift, -0.5, 0.5)) / FS)


def delineate(
    window: NDArray[np.float64], beats: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """Return the sample of each of `POINTS` in each beat, NaN where it was not found.

    By prominence (Emrich et al., 2024), which is ten times faster than the wavelets.
    """
    nothing = {name: np.full(len(beats), np.nan) for name in POINTS}
    if len(beats) < 2:
        return nothing
    try:
        with _neurokit() as nk:
            _, points = nk.ecg_delineate(window, beats, sampling_rate=FS, method="prominence")
    except _FAILURES:
        return nothing
    return {name: _by_beat(points[f"ECG_{name}"], len(beats)) for name in POINTS}


def _by_beat(points: list[float], n_beats: int) -> NDArray[np.float64]:
    """Return points with those that NeuroKit2 leaves out, at sample 0 of the first beat."""
    missing = n_beats - len(points)
    return np.array([np.nan] * missing + list(points), np.float64)


@contextmanager
def _neurokit() -> Iterator[Any]:
    """Give NeuroKit2 with its warnings silenced; it takes seconds to import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import neurokit2

        yield neurokit2


RHYTHM_NAMES = (
    "heart_rate", "nn_mean", "nn_median", "nn_min", "nn_max", "sdnn", "cvnn", "nn_iqr",
    "rmssd", "rmssd_share", "pnn50", "sd1", "sd2", "sd1_sd2", "nn_early", "nn_autocorrelation",
    "nn_turns", "cosen",
)  # fmt: skip

_MATCHES = 5
"""Least number of matching pairs that an entropy is estimated from."""

_FINEST_S = 0.01
"""Tolerance that the grid of the samples allows."""


def rhythm_features(intervals: NDArray[np.float64]) -> dict[str, float]:
    """Return the features of successive intervals between beats, in s.

    One interval gives a rate; spread takes two, their order four, entropy five.
    """
    if len(intervals) == 0:
        return {}
    features = _level(intervals)
    if len(intervals) >= 2:
        features |= _spread(intervals) | _succession(intervals)
    if len(intervals) >= 4:
        features |= _order(intervals)
    if len(intervals) >= 5:
        features["cosen"] = sample_entropy_coefficient(intervals)
    return features


def sample_entropy_coefficient(intervals: NDArray[np.float64]) -> float:
    """Return the coefficient of sample entropy, made to find AFib in very few beats.

    Lake & Moorman, 2011: pairs of neighbouring intervals (m = 1) match within a tolerance r,
    which is widened until five pairs do; -ln(A / B) + ln(2 r) - ln(mean interval).
    """
    first, second = intervals[:-1], intervals[1:]
    i, j = np.triu_indices(len(first), 1)
    step_distance = np.abs(first[i] - first[j])
    both = np.maximum(step_distance, np.abs(second[i] - second[j]))
    tolerance = max(float(np.sort(both)[_MATCHES - 1]), _FINEST_S)
    share = np.count_nonzero(both <= tolerance) / np.count_nonzero(step_distance <= tolerance)
    return float(-np.log(share) + np.log(2 * tolerance / intervals.mean()))


def _level(intervals: NDArray[np.float64]) -> dict[str, float]:
    return {
        "heart_rate": 60.0 / float(intervals.mean()),
        "nn_mean": float(intervals.mean()),
        "nn_median": float(np.median(intervals)),
        "nn_min": float(intervals.min()),
        "nn_max": float(intervals.max()),
    }


def _spread(intervals: NDArray[np.float64]) -> dict[str, float]:
    low, high = np.percentile(intervals, [25, 75])
    deviation = float(intervals.std(ddof=1))
    return {
        "sdnn": deviation,
        "cvnn": deviation / float(intervals.mean()),
        "nn_iqr": float(high - low),
        "nn_early": float(np.mean(intervals < 0.85 * np.median(intervals))),
    }


def _succession(intervals: NDArray[np.float64]) -> dict[str, float]:
    """Return measures of neighbours' differences, among them the axes of the Poincare plot."""
    steps = np.diff(intervals)
    rmssd = float(np.sqrt(np.mean(steps**2)))
    sd1 = rmssd / np.sqrt(2)
    sd2 = float(np.sqrt(max(0.0, 2 * intervals.var(ddof=1) - sd1**2)))
    features = {
        "rmssd": rmssd,
        "rmssd_share": rmssd / float(intervals.mean()),
        "pnn50": float(np.mean(np.abs(steps) > 0.05)),
        "sd1": sd1,
        "sd2": sd2,
    }
    return features | ({"sd1_sd2": sd1 / sd2} if sd2 > 0 else {})


def _order(intervals: NDArray[np.float64]) -> dict[str, float]:
    steps = np.diff(intervals)
    features = {"nn_turns": float(np.mean(steps[:-1] * steps[1:] < 0))}
    before, after = intervals[:-1] - intervals[:-1].mean(), intervals[1:] - intervals[1:].mean()
    size = float(np.sqrt(np.sum(before**2) * np.sum(after**2)))
    return features | ({"nn_autocorrelation": float(before @ after) / size} if size > 0 else {})


WAVE_NAMES = (
    "p_amplitude", "q_amplitude", "r_amplitude", "s_amplitude", "t_amplitude", "st_level",
    "p_duration", "qrs_duration", "q_to_s", "t_duration", "pr_interval", "qt_interval", "qtc",
    "r_amplitude_sd", "p_amplitude_sd", "p_place_sd", "t_place_sd", "p_share", "t_share",
)  # fmt: skip

_ST_S = 0.06
"""Where the ST segment is measured, after the end of the QRS complex."""

_SAME_PLACE_S = 0.04
_VISIBLE = 0.05
"""A P wave stands less than this far from its usual place, and this high against R."""

Points = dict[str, NDArray[np.float64]]


def wave_features(
    window: NDArray[np.float64], beats: NDArray[np.int64], points: Points
) -> dict[str, float]:
    """Return the measures of a window's delineated waves, for two beats or more.

    Parameters
    ----------
    window
        (1000,).
    beats
        Samples of the R peaks.
    points
        Of `delineate`.
    """
    if len(beats) < 2:
        return {}
    heights = _heights(window, beats, points)
    times = _times(beats, points)
    features = {name: _median(values) for name, values in (heights | times).items()}
    features["qtc"] = features["qt_interval"] / float(np.cbrt(np.mean(np.diff(beats)) / FS))
    place_p, place_t = times["p_place"], times["t_place"]
    return features | {
        "r_amplitude_sd": _deviation(heights["r_amplitude"]),
        "p_amplitude_sd": _deviation(heights["p_amplitude"]),
        "p_place_sd": _deviation(place_p),
        "t_place_sd": _deviation(place_t),
        "p_share": _p_share(heights, place_p),
        "t_share": float(np.isfinite(place_t).mean()),
    }


def _heights(
    window: NDArray[np.float64], beats: NDArray[np.int64], points: Points
) -> dict[str, NDArray[np.float64]]:
    """Return amplitudes over the level before the QRS complex; of P, over its own beginning."""
    level = _at(window, points["R_Onsets"])
    return {
        "p_amplitude": _at(window, points["P_Peaks"]) - _at(window, points["P_Onsets"]),
        "q_amplitude": _at(window, points["Q_Peaks"]) - level,
        "r_amplitude": window[beats] - level,
        "s_amplitude": _at(window, points["S_Peaks"]) - level,
        "t_amplitude": _at(window, points["T_Peaks"]) - level,
        "st_level": _at(window, points["R_Offsets"] + _ST_S * FS) - level,
    }


def _times(beats: NDArray[np.int64], points: Points) -> dict[str, NDArray[np.float64]]:
    samples = {
        "p_duration": points["P_Offsets"] - points["P_Onsets"],
        "qrs_duration": points["R_Offsets"] - points["R_Onsets"],
        "q_to_s": points["S_Peaks"] - points["Q_Peaks"],
        "t_duration": points["T_Offsets"] - points["T_Onsets"],
        "pr_interval": points["R_Onsets"] - points["P_Onsets"],
        "qt_interval": points["T_Offsets"] - points["R_Onsets"],
        "p_place": beats - points["P_Peaks"],
        "t_place": points["T_Peaks"] - beats,
    }
    return {name: values / FS for name, values in samples.items()}


def _p_share(heights: dict[str, NDArray[np.float64]], place: NDArray[np.float64]) -> float:
    """Return the share of beats with a P wave where the others have theirs.

    The delineation names the highest bump before any beat, so finding one means little.
    """
    usual, r_amplitude = _median(place), _median(heights["r_amplitude"])
    near = np.abs(place - usual) <= _SAME_PLACE_S
    return float(np.mean(near & (heights["p_amplitude"] > _VISIBLE * r_amplitude)))


def _at(window: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the samples at points, NaN for those that are NaN or outside."""
    inside = (points >= 0) & (points < len(window))
    return np.where(inside, window[np.where(inside, points, 0).astype(np.int64)], np.nan)


def _median(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def _deviation(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.std(ddof=1)) if len(finite) >= 2 else float("nan")


BEFORE, AFTER = 30, 45
"""Samples of a beat before and after its R peak: 0.3 s and 0.45 s hold P, QRS and most of T."""

FEWEST = 3
"""Whole beats that a median is taken of."""


def cut_beats(window: NDArray[np.float64], beats: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the beats that lie in the window as a whole, (beats, 75)."""
    whole = beats[(beats >= BEFORE) & (beats + AFTER <= len(window))]
    return window[whole[:, np.newaxis] + np.arange(-BEFORE, AFTER)]


def without_beats(
    window: NDArray[np.float64], beats: NDArray[np.int64], median: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the window less the median beat at each beat, up to where the next one begins."""
    samples = np.arange(len(window))
    owner = np.searchsorted(beats - BEFORE, samples, side="right") - 1
    place = samples - beats[np.maximum(owner, 0)] + BEFORE
    covered = (owner >= 0) & (place >= 0) & (place < len(median))
    return window - np.where(covered, median[np.where(covered, place, 0)], 0.0)


SHAPE_NAMES = (
    "beat_likeness", "p_likeness", "qrs_likeness", "t_likeness", "beat_height", "r_part",
    "r_width", "qrs_area", "steepest_rise", "steepest_fall", "p_energy", "qrs_energy", "t_energy",
)  # fmt: skip

_PARTS = {
    "beat": slice(None),
    "p": slice(BEFORE - 26, BEFORE - 6),
    "qrs": slice(BEFORE - 6, BEFORE + 7),
    "t": slice(BEFORE + 10, BEFORE + 45),
}
"""Where the waves lie in a cut beat."""


def shape_features(window: NDArray[np.float64], beats: NDArray[np.int64]) -> dict[str, float]:
    """Return the features of a window's whole beats, three or more."""
    cut = cut_beats(window, beats)
    if len(cut) < FEWEST:
        return {}
    median = np.median(cut, axis=0)
    return _likeness(cut, median) | _measures(median) | _energies(median)


def _likeness(cut: NDArray[np.float64], median: NDArray[np.float64]) -> dict[str, float]:
    """Return the median correlation of the beats with the median beat, for each part."""
    return {
        f"{name}_likeness": float(np.median(_correlations(cut[:, part], median[part])))
        for name, part in _PARTS.items()
    }


def _measures(median: NDArray[np.float64]) -> dict[str, float]:
    """Return height, R's part of it, its width at half height, area under QRS and slopes."""
    level, peak = float(np.median(median)), float(median[BEFORE])
    slopes = np.diff(median) * FS
    height = float(np.ptp(median))
    qrs = median[_PARTS["qrs"]] - level
    return {
        "beat_height": height,
        "r_part": (peak - level) / height if height > 0 else float("nan"),
        "r_width": _width(median - (level + peak) / 2),
        "qrs_area": float(np.abs(qrs).sum()) / FS,
        "steepest_rise": float(slopes.max()),
        "steepest_fall": float(slopes.min()),
    }


def _width(over: NDArray[np.float64]) -> float:
    """Return how long, in s, a curve stays above 0 around the R peak."""
    below = np.flatnonzero(over <= 0)
    before, after = below[below < BEFORE], below[below > BEFORE]
    start = before[-1] if len(before) else -1
    end = after[0] if len(after) else len(over)
    return float(end - start - 1) / FS


def _energies(median: NDArray[np.float64]) -> dict[str, float]:
    squares = (median - np.median(median)) ** 2
    total = float(squares.sum())
    if total == 0:
        return {}
    return {f"{part}_energy": float(squares[_PARTS[part]].sum()) / total for part in _PARTS
            if part != "beat"}  # fmt: skip


def _correlations(rows: NDArray[np.float64], with_: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Pearson's correlation of each row with one, 0 where one of them is constant."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    with_ = with_ - with_.mean()
    sizes = np.sqrt(np.sum(rows**2, axis=1) * np.sum(with_**2))
    return np.where(sizes > 0, rows @ with_ / np.where(sizes > 0, sizes, 1.0), 0.0)


ATRIAL_NAMES = ("rest_share", "f_level", "f_share", "f_peak_hz", "f_concentration")

_F_WAVES_HZ = (4.0, 9.0)
"""Rates of fibrillatory waves."""

_SEARCH_HZ = (3.0, 12.0)
_NEAR_HZ = 0.5


def atrial_features(window: NDArray[np.float64], beats: NDArray[np.int64]) -> dict[str, float]:
    """Return the features of a window without its beats, for three whole beats or more.

    Its share of the variance; the size of f waves against the beat's height and their share of
    the rest's power; the strongest rate from 3 to 12 Hz, and the share of power within 0.5 Hz.
    """
    cut = cut_beats(window, beats)
    if len(cut) < FEWEST:
        return {}
    median = np.median(cut, axis=0)
    rest = without_beats(window, beats, median)
    hz, spectrum = power(rest)
    total, height = float(spectrum.sum()), float(np.ptp(median))
    if total == 0 or height == 0:
        return {}
    waves = within(hz, spectrum, _F_WAVES_HZ)
    return {
        "rest_share": float(rest.var() / window.var()),
        "f_level": float(np.sqrt(waves * rest.var() / total)) / height,
        "f_share": waves / total,
    } | _strongest(hz, spectrum)


def _strongest(hz: NDArray[np.float64], spectrum: NDArray[np.float64]) -> dict[str, float]:
    searched = within(hz, spectrum, _SEARCH_HZ)
    if searched == 0:
        return {}
    inside = (hz >= _SEARCH_HZ[0]) & (hz <= _SEARCH_HZ[1])
    # Half a hertz to either side: the rate of f waves wanders within 10 s.
    width = round(2 * _NEAR_HZ / (hz[1] - hz[0])) + 1
    smooth = np.convolve(np.where(inside, spectrum, 0.0), np.ones(width), mode="same")
    best = int(np.argmax(np.where(inside, smooth, -1.0)))
    return {"f_peak_hz": float(hz[best]), "f_concentration": float(smooth[best]) / searched}


_BANDS_HZ = {
    "power_1_4": (1.0, 4.0),
    "power_4_9": (4.0, 9.0),
    "power_9_15": (9.0, 15.0),
    "power_15_25": (15.0, 25.0),
    "power_25_45": (25.0, 45.0),
}

SPECTRUM_NAMES = (*_BANDS_HZ, "deviation", "skewness", "kurtosis")


def spectrum_features(window: NDArray[np.float64]) -> dict[str, float]:
    """Return bands' shares of the power, and the moments of a window that is not constant."""
    hz, spectrum = power(window)
    total = float(spectrum.sum())
    shares = {name: within(hz, spectrum, band) / total for name, band in _BANDS_HZ.items()}
    deviation = float(window.std())
    z = (window - window.mean()) / deviation
    return shares | {
        "deviation": deviation,
        "skewness": float(np.mean(z**3)),
        "kurtosis": float(np.mean(z**4)),
    }


def power(signal: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return frequencies in Hz and the power at each, of a signal tapered at its ends."""
    tapered = (signal - signal.mean()) * np.hanning(len(signal))
    hz = np.fft.rfftfreq(len(signal), 1 / FS).astype(np.float64)
    return hz, np.square(np.abs(np.fft.rfft(tapered)))


def within(
    hz: NDArray[np.float64], spectrum: NDArray[np.float64], band: tuple[float, float]
) -> float:
    """Return the power in a band, its upper end excluded."""
    return float(spectrum[(hz >= band[0]) & (hz < band[1])].sum())


FEATURE_NAMES: tuple[str, ...] = (
    *RHYTHM_NAMES,
    *WAVE_NAMES,
    *SHAPE_NAMES,
    *ATRIAL_NAMES,
    *SPECTRUM_NAMES,
)
"""Name of each column of `classical_features`."""


def classical_features(windows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the classical features of windows, (n, 1000) to (n, features), one at a time.

    NaN stands for what cannot be measured: everything of a window that is constant or not finite,
    variability of fewer than three beats, waves that NeuroKit2 does not find. An
    inverted signal is not turned over.
    """
    if windows.ndim != 2 or windows.shape[1] != WINDOW_SAMPLES:
        raise ValueError(f"windows have the shape {windows.shape}; expected (n, {WINDOW_SAMPLES})")
    out = np.full((len(windows), len(FEATURE_NAMES)), np.nan, np.float32)
    for row, window in zip(out, windows, strict=True):
        features = window_features(window.astype(np.float64))
        row[:] = [features.get(name, np.nan) for name in FEATURE_NAMES]
    return out


def window_features(window: NDArray[np.float64]) -> dict[str, float]:
    """Return by name the features of one window, (1000,), that can be measured."""
    if not np.isfinite(window).all() or np.ptp(window) == 0:
        return {}
    beats = find_beats(window)
    intervals = np.diff(beat_times(window, beats))
    return (
        rhythm_features(intervals)
        | wave_features(window, beats, delineate(window, beats))
        | shape_features(window, beats)
        | atrial_features(window, beats)
        | spectrum_features(window)
    )


RR_NAMES = (
    "rr_variation", "rr_rmssd_share", "rr_step_share", "rr_steps_over_50_ms", "rr_mean",
    "rr_turns",
)  # fmt: skip
"""Name of each column of `rr_features`."""

_LARGE_STEP_S = 0.05
_LEARNING_SAMPLES = 2 * FS
"""SleepECG reads so many samples after a flat start without looking whether they are there."""

_SLOWEST_S = 2.0
"""Mean interval of a window without one: 30 beats a minute, the slow end of what hearts do."""


def rr_features(windows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the six numbers of windows, (n, 1000) to (n, 6), all of them finite.

    A window that is not finite, or flat but for its last two seconds, has no beats.
    """
    if windows.ndim != 2 or windows.shape[1] != WINDOW_SAMPLES:
        raise ValueError(f"windows have the shape {windows.shape}; expected (n, {WINDOW_SAMPLES})")
    out = np.empty((len(windows), len(RR_NAMES)), np.float32)
    for row, window in zip(out, windows, strict=True):
        row[:] = rr_numbers(_intervals(window.astype(np.float64)))
    return out


def rr_numbers(intervals: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the six numbers of successive intervals between beats in s, (m,), by `RR_NAMES`.

    With RR the intervals and d their differences (Task Force of ESC and NASPE, 1996; turning
    points as in Dash et al., 2009):

    1. coefficient of variation: standard deviation of RR (divisor m - 1) / mean RR;
    2. RMSSD / mean RR: sqrt(mean of d**2) / mean RR;
    3. median of |d| / mean RR;
    4. share of |d| above 50 ms;
    5. mean RR in s;
    6. turning-point rate: share of inner intervals longer, or shorter, than both neighbours; 2/3
       for a random succession.

    Too few intervals give finite numbers too: 1 to 4 are 0 with fewer than two intervals and 6 is
    0 with fewer than three, as if the rhythm were regular; the mean of none is 2 s. So a window
    in which no beats are found looks like a very slow and regular heart: far from AFib, and at
    a place where windows with beats hardly ever are.
    """
    mean = float(intervals.mean()) if len(intervals) else _SLOWEST_S
    if len(intervals) < 2:
        return 0.0, 0.0, 0.0, 0.0, mean, 0.0
    steps = np.diff(intervals)
    sizes = np.abs(steps)
    return (
        float(intervals.std(ddof=1)) / mean,
        float(np.sqrt(np.mean(steps**2))) / mean,
        float(np.median(sizes)) / mean,
        float(np.mean(sizes > _LARGE_STEP_S)),
        mean,
        float(np.mean(steps[:-1] * steps[1:] < 0)) if len(steps) > 1 else 0.0,
    )


def _intervals(window: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the intervals between the beats of a window, in s."""
    moves = np.flatnonzero(window != window[0])
    if not np.isfinite(window).all() or not len(moves):
        return np.empty(0)
    if len(window) - moves[0] < _LEARNING_SAMPLES:
        return np.empty(0)
    beats = np.asarray(detect_heartbeats(window, FS), np.int64)
    return np.diff(beat_times(window, beats))
