"""Noise and the converter: what a recorder does to a clean signal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from preprocessing.synth.files import Digitiser
from preprocessing.synth.physiology.noise import (
    NoiseProfile,
    add_pops,
    burst_envelope,
    cut_leads,
    draw_level,
    mains,
    muscle,
)
from preprocessing.synth.physiology.shape import add_gaussians
from preprocessing.synth.recording import rng_for

PROFILE = NoiseProfile(wander_mv=0.05, muscle_mv=0.01, mains_mv=0.01, mains_hz=60.0)


@pytest.mark.parametrize(("fs", "hz"), [(125, 60.0), (128, 60.0), (500, 50.0)])
def test_hum_lies_at_the_mains_frequency(fs: int, hz: float) -> None:
    hum = mains(60 * fs, fs, hz, rng_for(1, "hum"))
    peak = np.fft.rfftfreq(len(hum), 1 / fs)[np.abs(np.fft.rfft(hum)).argmax()]
    assert peak == pytest.approx(hz, abs=0.1)


def test_hum_that_would_alias_is_left_out() -> None:
    assert not mains(1000, 100, 60.0, rng_for(1, "hum")).any()


def test_muscle_noise_is_fast() -> None:
    noise = muscle(25000, 250, rng_for(1, "muscle"))
    power = np.abs(np.fft.rfft(noise)) ** 2
    hz = np.fft.rfftfreq(len(noise), 1 / 250)
    assert noise.std() == pytest.approx(1.0, abs=0.01)
    assert power[hz < 5].sum() < 0.05 * power.sum()


def test_bursts_rise_above_a_quiet_floor() -> None:
    envelope = burst_envelope(3600.0, 20.0, 4.0, rng_for(1, "burst"))
    assert envelope.min() == pytest.approx(1.0)
    assert envelope.max() > 2.0
    assert 0.5 < np.mean(envelope < 1.01) < 0.999


def test_recordings_differ_in_level_around_the_median() -> None:
    levels = [draw_level(PROFILE, rng_for(1, str(i))).wander for i in range(400)]
    assert np.median(levels) == pytest.approx(1.0, abs=0.1)
    assert np.quantile(levels, 0.95) > 1.8


def test_a_lead_that_is_off_is_constant() -> None:
    out = rng_for(1, "x").standard_normal((2, 3600 * 10)).astype(np.float32)
    cut_leads(out, 10, replace(PROFILE, lead_off=5.0), rng_for(1, "off"))
    still = (np.diff(out, axis=1) == 0).mean(axis=1)
    assert (still > 0.003).all()


def test_a_pop_decays_within_two_seconds() -> None:
    out = np.zeros((1, 600 * 100), dtype=np.float32)
    add_pops(out, 100, 6.0, rng_for(4, "pop"))
    assert 0.1 < np.abs(out).max() < 10
    assert (out != 0).mean() < 0.05


def test_a_gaussian_stands_between_samples_where_it_should() -> None:
    out = np.zeros((1, 100), dtype=np.float32)
    add_gaussians(out, np.array([0.503]), 0.03, np.array([[2.0]]), 100)
    x = np.arange(100) / 100
    truth = 2.0 * np.exp(-0.5 * ((x - 0.503) / 0.03) ** 2)
    np.testing.assert_allclose(out[0], truth, atol=0.004)


def test_the_converter_stays_on_its_rails() -> None:
    adc = Digitiser(gain=200.0, zero=1024, lowest=0, highest=2047)
    units = adc.digitise(np.array([[-9.0, 0.0, 0.005, 9.0]], dtype=np.float32))
    assert units.tolist() == [[0, 1024, 1025, 2047]]
