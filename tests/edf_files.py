"""EDF files made for tests, and the damage done to them."""

from __future__ import annotations

from pathlib import Path

import edfio
import numpy as np
from numpy.typing import NDArray

RECORD_COUNT = slice(236, 244)
START_DATE = slice(168, 176)
START_TIME = slice(176, 184)
MAGIC = slice(0, 8)


def write_edf(
    path: Path,
    signals: dict[str, NDArray[np.float64]],
    *,
    fs: float = 125,
    unit: str = "mV",
    physical_range: tuple[float, float] = (-5, 5),
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    channels = [
        edfio.EdfSignal(
            np.clip(values, *physical_range),
            fs,
            label=label,
            physical_dimension=unit,
            physical_range=physical_range,
        )
        for label, values in signals.items()
    ]
    edfio.Edf(channels, data_record_duration=1).write(path)
    return path


def beats(seconds: float, fs: float = 125, rate: float = 70, seed: int = 0) -> NDArray[np.float64]:
    """Return narrow bumps at a steady heart rate with a little noise: enough of an ECG."""
    t = np.arange(int(seconds * fs)) / fs
    phase = (t * rate / 60) % 1
    noise = np.random.default_rng(seed).normal(scale=0.01, size=t.size)
    return np.exp(-(((phase - 0.5) / 0.03) ** 2)) + noise


def patch(path: Path, field: slice, text: str) -> Path:
    """Overwrite one fixed-width field of the header."""
    data = bytearray(path.read_bytes())
    data[field] = text.ljust(field.stop - field.start).encode("ascii")
    path.write_bytes(bytes(data))
    return path


def signal_field(n_signals: int, index: int, offset: int, width: int) -> slice:
    """Return the place of a per-signal field whose block starts ``offset`` bytes per signal in."""
    start = 256 + n_signals * offset + index * width
    return slice(start, start + width)


def physical_fields(n_signals: int, index: int) -> tuple[slice, slice]:
    """Return the places of physical minimum and maximum of one signal."""
    return signal_field(n_signals, index, 104, 8), signal_field(n_signals, index, 112, 8)
