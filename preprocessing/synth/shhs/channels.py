"""The other fifteen channels of a synthetic night: cheap to make, in step with the heart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import signal

from preprocessing.synth.recording import Recording
from storage.schema import EventKind

FloatArray = npt.NDArray[np.float64]

BLOCK_S = 120
"""Brain, eye and chin signals repeat after this many seconds, at another strength each time."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel of the EDF: label, rate in Hz, unit and physical range."""

    label: str
    fs: int
    unit: str
    low: float
    high: float


BEFORE_ECG = (
    Channel("SaO2", 1, "%", 0.0, 100.0),
    Channel("H.R.", 1, "bpm", 0.0, 250.0),
    Channel("EEG(sec)", 125, "uV", -125.0, 125.0),
)
AFTER_ECG = (
    Channel("EMG", 125, "uV", -31.5, 31.5),
    Channel("EOG(L)", 50, "uV", -125.0, 125.0),
    Channel("EOG(R)", 50, "uV", -125.0, 125.0),
    Channel("EEG", 125, "uV", -125.0, 125.0),
    Channel("SOUND", 10, "", -1.0, 1.0),
    Channel("AIRFLOW", 10, "", -1.0, 1.0),
    Channel("THOR RES", 10, "", -1.0, 1.0),
    Channel("ABDO RES", 10, "", -1.0, 1.0),
    Channel("POSITION", 1, "", 0.0, 3.0),
    Channel("LIGHT", 1, "", 0.0, 1.0),
    Channel("NEW AIR", 10, "", -1.0, 1.0),
    Channel("OX stat", 1, "", 0.0, 3.0),
)

_BANDS = {"EEG": (0.5, 14.0), "EEG(sec)": (0.5, 14.0), "EOG(L)": (0.3, 4.0), "EOG(R)": (0.3, 4.0)}
_BREATHING = {"AIRFLOW": 0.0, "NEW AIR": 0.1, "THOR RES": 0.3, "ABDO RES": 0.5}
"""Delay of each breathing channel behind the lungs, in s."""


def _tiled(channel: Channel, seconds: int, rng: np.random.Generator) -> FloatArray:
    """Return band-limited noise of a fifth of the range, repeated at changing strength."""
    band = _BANDS.get(channel.label, (0.2 * channel.fs, 0.45 * channel.fs))
    white = rng.standard_normal(BLOCK_S * channel.fs)
    sos = signal.butter(1, band, "band", fs=channel.fs, output="sos")
    block = signal.sosfilt(sos, white)
    repeats = -(-seconds // BLOCK_S)
    strength = 0.1 * channel.high * rng.uniform(0.5, 1.5, (repeats, 1)) / block.std()
    return np.asarray((strength * block).ravel()[: seconds * channel.fs])


def _heart_rate(night: Recording, seconds: int) -> FloatArray:
    beats = night.beats
    if len(beats.time_s) == 0:
        return np.zeros(seconds)
    return np.interp(np.arange(seconds), beats.time_s, 60.0 / beats.rr_s)


def _saturation(night: Recording, seconds: int, rng: np.random.Generator) -> FloatArray:
    """Return about 96 % with a dip of some percent for each scored desaturation."""
    dip = np.zeros(seconds)
    for event in night.sleep.events if night.sleep else ():
        if event.kind is EventKind.DESATURATION:
            part = dip[round(event.start_s) : round(event.end_s)]
            part += rng.uniform(3.0, 8.0) * signal.windows.hann(len(part))
    return np.asarray(96.0 - dip + 0.3 * rng.standard_normal(seconds))


def _stays(values: list[float], seconds: int, rng: np.random.Generator) -> FloatArray:
    """Return a state that changes about twice an hour."""
    turns = np.cumsum(rng.random(seconds) < 2.0 / 3600.0)
    return rng.choice(values, int(turns[-1]) + 1)[turns]


def channel_values(
    channel: Channel, night: Recording, seconds: int, rng: np.random.Generator
) -> FloatArray:
    """Return the values of one channel in its unit, ``seconds`` times its rate of them."""
    time_s = np.arange(seconds * channel.fs) / channel.fs
    if channel.label in _BREATHING:
        breath = night.course.at("breath", time_s - _BREATHING[channel.label])
        return 0.35 * breath + 0.02 * rng.standard_normal(len(time_s))
    if channel.label == "H.R.":
        return _heart_rate(night, seconds)
    if channel.label == "SaO2":
        return _saturation(night, seconds, rng)
    if channel.label == "POSITION":
        return _stays([0.0, 1.0, 2.0, 3.0], seconds, rng)
    if channel.label in ("LIGHT", "OX stat"):
        return _stays([0.0, 0.0, 0.0, 1.0], seconds, rng)
    return _tiled(channel, seconds, rng)
