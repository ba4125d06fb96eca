"""SleepECG's detector over whole recordings, and the inputs that it must not be given."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from preprocessing import beats as module
from preprocessing.beats import find_pan_tompkins_beats

PERIOD = 80


def pulse_train(n_windows: int) -> NDArray[np.float32]:
    """A pulse each 0.8 s, the first at 0.4 s, with a little noise, cut into windows."""
    at = np.arange(n_windows * 1000)
    bumps = np.exp(-((((at % PERIOD) - PERIOD // 2) / 2.0) ** 2))
    noise = 0.01 * np.random.default_rng(0).normal(size=at.size)
    return (bumps + noise).reshape(n_windows, 1000).astype(np.float32)


def missing(beats: NDArray[np.intp], n_samples: int) -> int:
    """Number of pulses without a beat within two samples."""
    pulses = np.arange(PERIOD // 2, n_samples, PERIOD)
    distance = np.abs(pulses[:, np.newaxis] - beats).min(axis=1)
    return int((distance > 2).sum())


def test_every_pulse_of_a_recording_is_found_once() -> None:
    beats = find_pan_tompkins_beats(pulse_train(12))
    assert missing(beats, 12_000) == 0
    assert beats.size == 12_000 // PERIOD


def test_borders_between_pieces_lose_and_double_no_beat(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = find_pan_tompkins_beats(pulse_train(12))
    monkeypatch.setattr(module, "PIECE_WINDOWS", 5)
    np.testing.assert_array_equal(find_pan_tompkins_beats(pulse_train(12)), whole)


def test_an_artefact_does_not_silence_the_windows_after_it() -> None:
    windows = pulse_train(30)
    windows[5, 100:400] += 300 * np.random.default_rng(1).normal(size=300)
    beats = find_pan_tompkins_beats(windows)
    after = np.bincount(beats // 1000, minlength=30)[6:]
    assert set(after) <= {12, 13}  # pulses in a window; SleepECG by itself finds none


def test_windows_with_next_to_no_beats_are_searched_by_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deaf(windows: NDArray[np.floating], start: int) -> NDArray[np.intp]:
        return np.array([1500], dtype=np.intp)

    monkeypatch.setattr(module, "_find_in_piece", deaf)
    beats = find_pan_tompkins_beats(pulse_train(3))
    assert missing(beats, 3000) <= 1
    assert 1500 not in beats


@pytest.mark.parametrize("last", [1, 2, 50, 199])
def test_a_flat_start_with_a_short_rest_has_no_beats(last: int) -> None:
    windows = np.zeros((1, 1000), dtype=np.float32)
    windows[0, -last:] = np.random.default_rng(0).normal(size=last)
    assert find_pan_tompkins_beats(windows).size == 0


def test_a_flat_start_does_not_shift_the_beats() -> None:
    windows = pulse_train(6)
    windows[:2] = windows[2, 0]
    beats = find_pan_tompkins_beats(windows)
    assert beats.min() >= 2000
    assert missing(beats[beats >= 2000], 6000) == 2000 // PERIOD


@pytest.mark.parametrize("n_windows", [0, 1, 3])
def test_constant_recordings_have_no_beats(n_windows: int) -> None:
    assert find_pan_tompkins_beats(np.full((n_windows, 1000), 2.0, dtype=np.float32)).size == 0
