"""Strips in few bytes: what is lost, and what is not."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from deaps.report.window_map import LIMIT, pack, thin, unpack
from tests.deaps.evaluation.made_windows import beats_from, ecg_window


def test_every_r_peak_keeps_its_height() -> None:
    window = ecg_window(beats_from([0.813] * 10))
    thinned = thin(window[np.newaxis], 250)[0]
    for beat in beats_from([0.813] * 10):
        at = round(beat * 100)
        near = slice(at // 4 - 2, at // 4 + 3)
        assert thinned[near].max() == window[at - 4 : at + 5].max()


def test_thinned_samples_come_from_their_own_place() -> None:
    window = np.random.default_rng(0).standard_normal((3, 1000)).astype(np.float32)
    thinned = thin(window, 250)
    assert all(thinned[i, k] in window[i, 4 * k : 4 * k + 4] for i in range(3) for k in range(250))


def test_samples_must_divide_the_window() -> None:
    with pytest.raises(ValueError, match="samples is 300; allowed are divisors of 1000"):
        thin(np.zeros((1, 1000), np.float32), 300)


def test_packed_strips_come_back_within_half_a_unit() -> None:
    strips = np.random.default_rng(0).normal(0, 2, (7, 250)).astype(np.float32)
    packed, scale = pack(strips)
    assert np.abs(unpack(packed, scale, 250) - strips).max() <= scale / 2 + 1e-9


def test_a_sample_takes_one_byte() -> None:
    packed, _ = pack(np.ones((4, 250), np.float32))
    assert len(base64.b64decode(packed)) == 1000


def test_an_artefact_does_not_flatten_the_other_strips() -> None:
    strips = np.full((2, 250), 3.0, np.float32)
    strips[1, 5] = 80.0
    packed, scale = pack(strips)
    back = unpack(packed, scale, 250)
    assert back[1, 5] == pytest.approx(LIMIT)
    assert back[0] == pytest.approx(strips[0], abs=0.05)


def test_flat_strips_come_back_flat() -> None:
    assert not unpack(*pack(np.zeros((2, 250), np.float32)), 250).any()
