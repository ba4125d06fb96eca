"""Amplitudes, durations and intervals of P, QRS and T: medians over the beats of a window."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from storage.schema import FS

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
