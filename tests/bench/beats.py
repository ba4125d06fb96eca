"""R peaks against the annotations of MIT-ARR and CPSC 2021, and the quality of slow hearts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import wfdb
from numpy.typing import NDArray

from preprocessing.beats import is_normal
from preprocessing.chain import clean_windows, process
from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.datasets import DATASETS
from preprocessing.quality import score_windows
from storage.schema import Quality
from tests.bench.figure import Figure
from tests.clean_ecg import FS, every_clean_ecg
from tests.conftest import real_folder

BEATS = frozenset("NLRBAaJSVrFejnE/fQ?")
"""Symbols of WFDB that mark a beat."""
MATCH_S, HRV_S, USABLE = 0.15, 300, 0.8
UNACCEPTABLE = list(Quality).index(Quality.UNACCEPTABLE)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Compared:
    """One recording: matched, annotated and found beats; RMSSD by both and the usable share."""

    counts: tuple[int, int, int]
    rmssd_ms: list[tuple[float, float, float]]
    quality: list[tuple[int, float]]
    """Class and heart rate of each window that passes the gate."""


def measure(_: Path) -> list[Figure]:
    """Return sensitivity, positive predictivity, error of RMSSD, and quality by heart rate."""
    figures: list[Figure] = []
    arr = compared("mitdb")
    if arr:
        matched, annotated, found = np.sum([each.counts for each in arr], axis=0).tolist()
        figures += [
            Figure("beats on MIT-ARR, sensitivity", 100 * matched / annotated, "%", 99.0, 99.5),
            Figure("the same, positive predictivity", 100 * matched / found, "%", 99.0, 99.6),
            Figure(
                "RMSSD of usable 5 min against the annotations' beats, median difference",
                rmssd_error(arr), "ms", 3.0, 1.5, higher=False,
            ),
        ]  # fmt: skip
    others = compared("cpsc2021")
    if others:
        matched, annotated, found = np.sum([each.counts for each in others], axis=0).tolist()
        seen = {"predictivity": 100 * matched / found, "rmssd_ms": rmssd_error(others)}
        name = "beats on CPSC 2021, on which nothing was chosen: sensitivity"
        figures.append(Figure(name, 100 * matched / annotated, "%", 98.0, 99.0, seen=seen))
        windows = np.array([w for each in [*others, *compared("afpdb")] for w in each.quality])
        ratio = rejected(windows, 40, 50) / rejected(windows, 60, 80)
        name = "Unacceptable at 40-50 beats/min against 60-80, real windows"
        figures.append(Figure(name, ratio, "times", 2.5, 1.5, higher=False))
    wrong, n = clean_rejected()
    name = f"made clean windows called Unacceptable, of {n:,}"
    return [*figures, Figure(name, wrong, "windows", 0, 0, higher=False)]


def compared(dataset: str) -> list[Compared]:
    """Return what was found in every recording of a data set, none if it is not there."""
    root = real_folder(dataset)
    if root is None:
        return []
    reader, signal, quality = DATASETS[dataset], SignalSettings(), QualitySettings()
    results = []
    for recording in reader.find(root):
        raw = reader.read(root, recording, signal.labels())
        made = process(raw, signal=signal, quality=quality)
        passed = ~made.gate.rejected
        classes = list(zip(made.scores.quality[passed], made.scores.hr_mean[passed], strict=True))
        ours = 10 * made.peaks.row + made.peaks.offset_s.astype(np.float64)
        files = [path for path, _ in recording.files if path.endswith(".atr")]
        if dataset == "afpdb" or not files:  # it has no annotations of beats by people
            results.append(Compared((0, 0, 0), [], classes))
            continue
        theirs, flutter = annotated_beats(root / files[0], raw.fs)
        theirs = theirs[theirs < 10 * len(made.windows)]
        normal = is_normal(theirs, np.ones(len(theirs), bool))
        rows = [
            (*hrv(theirs, normal, start)[:1], *hrv(ours, made.peaks.normal, start))
            for start in range(0, 10 * len(made.windows) - HRV_S + 1, HRV_S)
        ]
        results.append(Compared(counts(theirs, ours, flutter), rows, classes))
    return results


def annotated_beats(path: Path, fs: float) -> tuple[Floats, list[tuple[float, float]]]:
    """Return the beats' times, and spans of ventricular flutter, in which none are marked."""
    notes = wfdb.rdann(str(path.with_suffix("")), "atr")
    marks = list(zip(notes.sample / fs, notes.symbol, strict=True))
    starts = [time for time, symbol in marks if symbol == "["]
    ends = [time for time, symbol in marks if symbol == "]"]
    times = np.array([time for time, symbol in marks if symbol in BEATS])
    return times, list(zip(starts, ends, strict=False))


def counts(
    theirs: Floats, ours: Floats, left_out: list[tuple[float, float]]
) -> tuple[int, int, int]:
    """Return how many beats match, each with one at most, and how many both have."""
    for start, end in left_out:
        theirs = theirs[(theirs < start - MATCH_S) | (theirs > end + MATCH_S)]
        ours = ours[(ours < start - MATCH_S) | (ours > end + MATCH_S)]
    i = j = matched = 0
    while i < len(theirs) and j < len(ours):
        apart = ours[j] - theirs[i]
        matched += abs(apart) <= MATCH_S
        i += apart >= -MATCH_S
        j += apart <= MATCH_S
    return matched, len(theirs), len(ours)


def hrv(times: Floats, normal: NDArray[np.bool_], start_s: float) -> tuple[float, float]:
    """Return RMSSD of five minutes in ms, NaN of too few intervals, and the normal share."""
    inside = (times[1:] >= start_s) & (times[1:] < start_s + HRV_S)
    good = normal[1:] & inside
    changes = 1000 * np.diff(np.diff(times))[good[1:] & good[:-1]]
    share = float(good.sum() / max(inside.sum(), 1))
    return (float(np.sqrt(np.mean(np.square(changes)))) if len(changes) > 30 else np.nan), share


def rmssd_error(recordings: list[Compared]) -> float:
    """Return the median difference of RMSSD where enough intervals are usable."""
    rows = np.array([row for each in recordings for row in each.rmssd_ms])
    kept = (rows[:, 2] >= USABLE) & np.isfinite(rows[:, :2]).all(axis=1)
    return float(np.median(np.abs(rows[kept, 0] - rows[kept, 1])))


def rejected(windows: Floats, low: float, high: float) -> float:
    """Return the share of Unacceptable windows with a heart rate in a range."""
    inside = (windows[:, 1] >= low) & (windows[:, 1] < high)
    return float((windows[inside, 0] == UNACCEPTABLE).mean())


def clean_rejected() -> tuple[int, int]:
    """Return how many clean made windows are Unacceptable, and how many there are."""
    wrong = n = 0
    for ecg in every_clean_ecg():
        windows = clean_windows(ecg.signal, FS, SignalSettings()).windows.astype(np.float32)
        wrong += int((score_windows(windows)[0].quality == UNACCEPTABLE).sum())
        n += len(windows)
    return wrong, n
