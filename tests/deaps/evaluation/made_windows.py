"""Windows with beats at known times: each wave a Gaussian of known place, height and width."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

P = (-0.16, 0.15, 0.022)
QRS = ((-0.03, -0.12, 0.010), (0.0, 1.0, 0.012), (0.032, -0.2, 0.012))
T = (0.28, 0.3, 0.045)


def ecg_window(
    beats_s: Sequence[float],
    *,
    p_wave: bool = True,
    f_wave_hz: float | None = None,
    noise: float = 0.01,
    seed: int = 0,
) -> NDArray[np.float32]:
    """Return one window, (1000,), with f waves of a tenth of R's height if asked."""
    at = np.arange(1000) / 100
    rng = np.random.default_rng(seed)
    signal = noise * rng.standard_normal(1000)
    for beat in beats_s:
        for centre, height, width in (*QRS, T, *([P] if p_wave else [])):
            signal += height * np.exp(-0.5 * ((at - beat - centre) / width) ** 2)
    if f_wave_hz is not None:
        signal += 0.1 * np.sin(2 * np.pi * f_wave_hz * at + rng.uniform(0, 6))
    return (signal - signal.mean()).astype(np.float32)


def beats_from(intervals_s: Sequence[float], start_s: float = 0.5) -> NDArray[np.float64]:
    """Return the times of beats that are so far apart."""
    return start_s + np.concatenate([[0.0], np.cumsum(intervals_s)])


def irregular_beats(seed: int) -> NDArray[np.float64]:
    """Return beats as in AFib: intervals drawn anew each time, 0.45 to 1 s."""
    return beats_from(np.random.default_rng(seed).uniform(0.45, 1.0, 9))
