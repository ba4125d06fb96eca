"""qSQI: the share of beats on which two detectors agree, per window.

This is the bSQI of Li, Mark & Clifford (2008), "Robust heart rate estimation from multiple
asynchronous noisy sources using signal quality indices and a Kalman filter", Physiol. Meas.
29:15-32: ``matched / (n1 + n2 - matched)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from preprocessing.quality.gradient_beats import DELAY_SAMPLES
from storage.schema import WINDOW_SAMPLES

Indices = NDArray[np.intp]


def agreement(
    first: Indices, second: Indices, n_windows: int, *, tolerance: int
) -> NDArray[np.float64]:
    """Share of beats that both detectors found, shape (n,), 0 where neither found any.

    Two beats match when each is the other's nearest and they lie at most ``tolerance`` samples
    apart. Beats are matched along the recording, across the windows' borders; a pair is counted
    once, in the window of the first detector's beat.

    A beat without partner counts as disagreement only where the first detector, which takes
    each window by itself, could have seen the partner: not within ``tolerance`` of its dead time
    of 0.3 s at the window's start, nor of the window's end. Otherwise nearly half of all windows
    (44 % in the PAF Prediction set) would lose a tenth of their qSQI to a beat on their edge.

    Parameters
    ----------
    first
        Beats of `gradient_beats.find_beats`: ascending sample indices from the recording's start.
    second
        Beats of the other detector, likewise.
    n_windows
        Number of windows of the recording.
    tolerance
        In samples.
    """
    partner = _partners(first, second, tolerance)
    paired = partner >= 0
    alone = np.concatenate([first[~paired], np.delete(second, partner[paired])])
    matched = _per_window(first[paired], n_windows)
    unmatched = _per_window(alone[_away_from_edges(alone, tolerance)], n_windows)
    counted = matched + unmatched
    share = np.zeros(n_windows)
    np.divide(matched, counted, out=share, where=counted > 0)
    return share


def _partners(first: Indices, second: Indices, tolerance: int) -> Indices:
    """Position in ``second`` of the partner of each of ``first``, -1 where it has none."""
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


def _away_from_edges(beats: Indices, tolerance: int) -> NDArray[np.bool_]:
    """Whether the first detector could have found a partner on either side of each beat."""
    position = beats % WINDOW_SAMPLES
    inside: NDArray[np.bool_] = (position > DELAY_SAMPLES + tolerance) & (
        position < WINDOW_SAMPLES - tolerance
    )
    return inside


def _per_window(beats: Indices, n_windows: int) -> Indices:
    """Count the beats of each window, shape (n,)."""
    return np.bincount(beats // WINDOW_SAMPLES, minlength=n_windows)
