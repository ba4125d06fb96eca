"""The gate: flat, clipped and non-finite windows, found in source samples."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing.chain import Gate, find_artifacts
from tests.edf_files import beats


def gate(signal: np.ndarray, fs: float = 125, **settings: float) -> Gate:
    values = {"flat_s": 2.0, "clip_share": 0.05, "clip_run": 3} | settings
    n_windows = int(signal.size / fs / 10)
    return find_artifacts(signal.astype(np.float32), fs, n_windows, **values)  # type: ignore[arg-type]


def test_good_signal_passes() -> None:
    assert not gate(beats(600)).rejected.any()


def test_lead_off_is_flat_in_its_windows_only() -> None:
    signal = beats(60)
    signal[(22 * 125) : (27 * 125)] = 0.3
    assert np.flatnonzero(gate(signal).flat).tolist() == [2]


def test_flat_stretch_shorter_than_the_limit_passes() -> None:
    signal = beats(30)
    signal[125 : 125 + 240] = 0.3
    assert not gate(signal).flat.any()


def test_constant_recording_is_flat_and_not_clipped() -> None:
    faults = gate(np.full(30 * 125, 1.0))
    assert faults.flat.all()
    assert not faults.clipped.any()


def test_saturated_window_is_clipped() -> None:
    signal = beats(60)
    signal[1250:2500] = np.where(np.arange(1250) % 20 < 10, 5.0, signal[1250:2500])
    assert np.flatnonzero(gate(signal).clipped).tolist() == [1]


@pytest.mark.parametrize("glitches", [[7], [7, 5000], [7, 8, 5000, 5001]])
def test_glitches_beyond_the_rails_do_not_hide_clipping(glitches: list[int]) -> None:
    signal = np.clip(beats(60) * 8, -1.0, 2.0)
    expected = gate(signal).clipped
    assert expected.all()
    signal[glitches] = [9.0, -9.0, 11.0, -12.0][: len(glitches)]
    np.testing.assert_array_equal(gate(signal).clipped, expected)


@pytest.mark.parametrize("hours", [0.05, 1.0])
def test_glitches_to_a_converters_full_scale_are_no_rail(hours: float) -> None:
    signal = np.clip(beats(3600 * hours) * 8, -1.0, 2.0)
    expected = gate(signal).clipped
    assert expected.all()
    places = np.linspace(50, signal.size - 50, min(170, signal.size // 1001)).astype(int)
    signal[places] = 5.0
    np.testing.assert_array_equal(gate(signal).clipped, expected)


def test_a_value_that_many_samples_exceed_is_no_rail() -> None:
    signal = np.round(beats(600) * 4) / 4  # baseline and peaks of a coarse converter
    assert not gate(signal + np.arange(signal.size) % 7 / 100).clipped.any()


def test_single_tall_peaks_are_not_clipped() -> None:
    signal = beats(60)
    signal[::100] = 9.0
    assert not gate(signal).clipped.any()


def test_nan_rejects_its_window_only() -> None:
    signal = beats(60)
    signal[3 * 1250 + 7] = np.nan
    faults = gate(signal)
    assert np.flatnonzero(faults.nonfinite).tolist() == [3]
    assert np.flatnonzero(faults.rejected).tolist() == [3]


def test_recording_of_nan_is_rejected_throughout() -> None:
    assert gate(np.full(30 * 125, np.nan)).rejected.all()


@pytest.mark.parametrize("fs", [99.9, 128.37])
def test_rates_without_whole_windows_are_handled(fs: float) -> None:
    signal = beats(100, fs)
    signal[int(42 * fs) : int(48 * fs)] = 0
    assert np.flatnonzero(gate(signal, fs).flat).tolist() == [4]


def test_faults_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    signal = beats(300)
    signal[1250 * 7 : 1250 * 9] = 1
    whole = gate(signal)
    monkeypatch.setattr("preprocessing.chain._BLOCK", 4)
    np.testing.assert_array_equal(gate(signal).rejected, whole.rejected)
