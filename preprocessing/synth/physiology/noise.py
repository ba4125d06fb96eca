"""Noise: baseline wander, muscle, mains, motion, electrode pops and leads that fall off.

Noise comes in bursts along a recording, and recordings differ in how bad they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import signal

from preprocessing.synth.physiology.people import Course
from preprocessing.synth.physiology.shape import Samples, add_gaussians

FloatArray = npt.NDArray[np.float64]

GRID_HZ = 16.0


@dataclass(frozen=True, slots=True)
class NoiseProfile:
    """Medians over the recordings of a data set; levels in mV (standard deviation), counts per h.

    ``spread`` is the standard deviation of the logarithm of a recording's level around them.
    """

    wander_mv: float
    muscle_mv: float
    mains_mv: float
    mains_hz: float
    bursts: float = 20.0
    burst_gain: float = 4.0
    motions: float = 20.0
    motion_mv: float = 0.5
    pops: float = 3.0
    lead_off: float = 0.3
    lead_off_s: float = 15.0
    spread: float = 0.5
    breath_mv: float = 0.02
    white_mv: float = 0.004


@dataclass(frozen=True, slots=True)
class NoiseLevel:
    """How bad one recording is: 0 for a typical one, 1 for a standard deviation worse."""

    overall: float
    wander: float
    muscle: float
    mains: float


def draw_level(profile: NoiseProfile, rng: np.random.Generator) -> NoiseLevel:
    """Return a recording's level; wander, muscle and mains are bad together, but not always."""
    overall, *own = rng.standard_normal(4).tolist()
    factors = [float(np.exp(profile.spread * (0.75 * overall + 0.66 * z))) for z in own]
    return NoiseLevel(overall, *factors)


def burst_envelope(
    duration_s: float, per_hour: float, gain: float, rng: np.random.Generator
) -> FloatArray:
    """Return a factor of at least 1 on a 16 Hz grid that rises in bursts of about 6 s."""
    size = int(np.ceil(duration_s * GRID_HZ)) + 1
    count = rng.poisson(per_hour * duration_s / 3600.0)
    start = rng.integers(0, size, count)
    length = (6.0 * np.exp(0.9 * rng.standard_normal(count)) * GRID_HZ).astype(int) + 1
    height = (gain - 1.0) * rng.gamma(2.0, 0.5, count)
    edges = np.zeros(size + 1)
    np.add.at(edges, start, height)
    np.add.at(edges, np.minimum(start + length, size), -height)
    smooth = signal.windows.hann(int(1.5 * GRID_HZ), sym=True)
    boxes = np.cumsum(edges)[:size]
    return np.asarray(1.0 + np.convolve(boxes, smooth / smooth.sum(), mode="same"))


def _spread_out(grid: FloatArray, samples: int, fs: float) -> FloatArray:
    """Return a curve of the 16 Hz grid at the samples."""
    return np.interp(np.arange(samples) * (GRID_HZ / fs), np.arange(len(grid)), grid)


def baseline(envelope: FloatArray, level_mv: float, rng: np.random.Generator) -> FloatArray:
    """Return wander on the 16 Hz grid: strongest below 0.3 Hz, reaching up to 1 Hz."""
    white = rng.standard_normal(len(envelope) + 256)
    slow = signal.sosfilt(signal.butter(1, 0.12, fs=GRID_HZ, output="sos"), white)
    swift = signal.sosfilt(signal.butter(2, [0.3, 0.9], "band", fs=GRID_HZ, output="sos"), white)
    wander = (slow / slow.std() + 0.45 * swift / swift.std())[256:]
    return np.asarray(level_mv * envelope * wander)


def muscle(samples: int, fs: float, rng: np.random.Generator) -> Samples:
    """Return muscle noise of unit deviation, 12 Hz to 90 Hz or what the rate allows."""
    white = rng.standard_normal(samples, dtype=np.float32)
    band = [12.0, min(90.0, 0.45 * fs)]
    noise = signal.sosfilt(signal.butter(1, band, "band", fs=fs, output="sos"), white)
    return np.asarray(noise / max(float(noise.std()), 1e-9), dtype=np.float32)


def mains(samples: int, fs: float, hz: float, rng: np.random.Generator) -> Samples:
    """Return hum of unit height; nothing where the rate is too low to hold it."""
    if hz >= 0.49 * fs:
        return np.zeros(samples, dtype=np.float32)
    turns = np.arange(samples) / fs
    phase = (2.0 * np.pi * ((turns * hz) % 1.0 + rng.random())).astype(np.float32)
    swell = 1.0 + 0.25 * np.sin((0.4 * turns).astype(np.float32))
    return np.asarray(swell * np.sin(phase), dtype=np.float32)


def add_motion(
    out: Samples, fs: float, profile: NoiseProfile, rate: float, rng: np.random.Generator
) -> None:
    """Add swings of the baseline of 0.15 to 0.6 s, ``rate`` times as often as in the profile."""
    seconds = out.shape[1] / fs
    for width in (0.08, 0.16, 0.32):
        count = rng.poisson(profile.motions * rate * seconds / 3600.0 / 3.0)
        centre = rng.uniform(0.0, seconds, count)
        size = profile.motion_mv * rng.standard_normal((count, len(out)))
        add_gaussians(out, centre, width, size, fs)
        add_gaussians(out, centre + 2.5 * width, 2.0 * width, -0.4 * size, fs)


def add_pops(out: Samples, fs: float, per_hour: float, rng: np.random.Generator) -> None:
    """Add steps of one lead that decay within a second, as when an electrode is touched."""
    decay = np.exp(-np.arange(int(1.5 * fs)) / (0.25 * fs)).astype(np.float32)
    count = rng.poisson(per_hour * out.shape[1] / fs / 3600.0)
    for start in rng.integers(0, out.shape[1], count).tolist():
        row = out[rng.integers(0, len(out))]
        stop = min(start + len(decay), len(row))
        row[start:stop] += np.float32(rng.normal(0.0, 1.5)) * decay[: stop - start]


def cut_leads(out: Samples, fs: float, profile: NoiseProfile, rng: np.random.Generator) -> None:
    """Replace stretches by a constant: the electrode is off, the amplifier at rest or at a rail."""
    count = rng.poisson(profile.lead_off * out.shape[1] / fs / 3600.0)
    for start in rng.integers(0, out.shape[1], count).tolist():
        length = int(profile.lead_off_s * np.exp(0.7 * rng.standard_normal()) * fs)
        out[:, start : start + length] = rng.choice([0.0, 0.0, 20.0, -20.0])


def add_noise(
    out: Samples,
    course: Course,
    profile: NoiseProfile,
    level: NoiseLevel,
    *,
    fs: float,
    rng: np.random.Generator,
) -> None:
    """Add all noise but lead-off, in place, in mV; leads share its bursts, not its course."""
    samples = out.shape[1]
    worse = float(np.exp(0.6 * level.overall))
    envelope = burst_envelope(samples / fs, profile.bursts * worse, profile.burst_gain, rng)
    swell = _spread_out(envelope, samples, fs).astype(np.float32)
    breath = course.at("breath", np.arange(len(envelope)) / GRID_HZ)
    for row in out:
        wander = baseline(envelope, profile.wander_mv * level.wander, rng)
        wander += profile.breath_mv * level.wander * breath
        row += _spread_out(wander, samples, fs).astype(np.float32)
        row += (profile.muscle_mv * level.muscle) * swell * muscle(samples, fs, rng)
        row += (profile.mains_mv * level.mains) * mains(samples, fs, profile.mains_hz, rng)
        row += profile.white_mv * rng.standard_normal(samples, dtype=np.float32)
    add_motion(out, fs, profile, worse, rng)
    add_pops(out, fs, profile.pops * worse, rng)
