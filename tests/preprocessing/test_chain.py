"""The whole chain on signals whose answer is known, and its golden output."""

from __future__ import annotations

import numpy as np
import pytest

from preprocessing.chain import ProcessedRecording, process
from preprocessing.config import STEP_VERSIONS, QualitySettings, SignalSettings
from preprocessing.recording import RawRecording, RhythmChange
from tests.edf_files import beats

GOLDEN = {
    "plausibility=1 gate=3 bridge=1 resample=2 highpass=1 normalise=1 quality=2 beats=1 rhythm=1": {
        "window 1 at 100, 300, 500": [0.2786, -0.4009, 4.9883],
        "window 1, highest and lowest": [4.9883, -0.4033],
        "mean and deviation, mV": [0.00002, 0.18568],
        "psqi, ksqi, bassqi of window 1": [0.9523, 16.7422, 0.9982],
        "hr_max of window 1": [70.5882],
        "R peaks of window 1": [
            *(0.7142, 1.5714, 2.4286, 3.2858, 4.1428, 5.0),
            *(5.8572, 6.7142, 7.5714, 8.4286, 9.2858),
        ],
        "classes of all windows": [1] * 9,
    }
}
"""What the chain gives for `golden_recording`, by the versions of its steps."""


def golden_recording() -> RawRecording:
    """Return 35 s at 250 Hz: steady beats, slow drift, mains hum; no random numbers."""
    t = np.arange(35 * 250) / 250
    phase = (t * 70 / 60) % 1
    ecg = np.exp(-(((phase - 0.5) / 0.03) ** 2)) + 0.15 * np.exp(-(((phase - 0.8) / 0.08) ** 2))
    noise = 0.3 * np.sin(2 * np.pi * 0.11 * t) + 0.02 * np.sin(2 * np.pi * 60 * t)
    return RawRecording((ecg + noise).astype(np.float32), 250.0, "ECG")


def golden_values(processed: ProcessedRecording) -> dict[str, list[float]]:
    window, scores = processed.windows[1].astype(float), processed.scores
    return {
        "window 1 at 100, 300, 500": [window[100], window[300], window[500]],
        "window 1, highest and lowest": [window.max(), window.min()],
        "mean and deviation, mV": [processed.mean_mv, processed.std_mv],
        "psqi, ksqi, bassqi of window 1": [scores.psqi[1], scores.ksqi[1], scores.bassqi[1]],
        "hr_max of window 1": [scores.hr_max[1]],
        "R peaks of window 1": processed.peaks.offset_s[processed.peaks.row == 1].tolist(),
        "classes of all windows": [*scores.quality, *scores.quality4, *scores.quality3],
    }


def run(raw: RawRecording, **signal: object) -> ProcessedRecording:
    return process(
        raw,
        signal=SignalSettings(**signal),  # type: ignore[arg-type]
        quality=QualitySettings(),
    )


def test_output_is_golden() -> None:
    """If this fails by intention, raise the step's version and add the values above."""
    versions = " ".join(f"{step}={version}" for step, version in STEP_VERSIONS.items())
    expected = GOLDEN[versions]
    for name, values in golden_values(run(golden_recording())).items():
        np.testing.assert_allclose(values, expected[name], atol=2e-3, err_msg=name)


def test_remainder_is_dropped_and_counted() -> None:
    processed = run(golden_recording())
    assert len(processed.windows) == 3
    assert processed.dropped_s == pytest.approx(5)
    assert processed.n_samples == 3500


@pytest.mark.parametrize(("seconds", "windows"), [(9.99, 0), (10, 1), (19.996, 1), (20, 2)])
@pytest.mark.parametrize("fs", [125, 256, 300, 360, 500])
def test_only_whole_windows_count(fs: int, seconds: float, windows: int) -> None:
    signal = beats(seconds, fs).astype(np.float32)
    assert len(run(RawRecording(signal, fs, "ECG")).windows) == windows


def test_recording_has_zero_mean_and_unit_deviation() -> None:
    processed = run(RawRecording(beats(600, 125).astype(np.float32), 125, "ECG"))
    assert processed.windows.astype(float).mean() == pytest.approx(0, abs=1e-3)
    assert processed.windows.astype(float).std() == pytest.approx(1, abs=1e-2)


def test_gain_changes_only_the_deviation() -> None:
    raw = golden_recording()
    one, ten = run(raw), run(RawRecording(10 * raw.signal, raw.fs, raw.channel))
    np.testing.assert_allclose(ten.windows.astype(float), one.windows.astype(float), atol=4e-3)
    assert ten.std_mv == pytest.approx(10 * one.std_mv, rel=1e-5)


def test_polarity_is_stored_and_applied_only_when_asked() -> None:
    raw = golden_recording()
    turned = RawRecording(-raw.signal, raw.fs, raw.channel)
    as_is, fixed = run(turned), run(turned, fix_polarity=True)
    assert as_is.polarity < 0
    np.testing.assert_array_equal(fixed.windows, -as_is.windows)


def test_gated_window_is_unacceptable_and_the_rest_is_not() -> None:
    signal = beats(60, 125).astype(np.float32)
    signal[2 * 1250 + 300] = np.nan
    processed = run(RawRecording(signal, 125, "ECG"))
    assert processed.gate.nonfinite.tolist() == [False, False, True, False, False, False]
    assert processed.scores.quality[2] == 2
    assert (processed.scores.quality[[0, 1, 3, 4, 5]] < 2).all()
    assert np.isfinite(processed.windows).all()


def test_rhythms_reach_the_windows() -> None:
    raw = golden_recording()
    labelled = RawRecording(raw.signal, raw.fs, "ECG", rhythms=(RhythmChange(0, "AFIB"),))
    assert run(labelled).rhythm == ["AFIB"] * 3


@pytest.mark.parametrize("signal", [np.zeros(5000), np.full(5000, np.nan), np.full(5000, 1e30)])
def test_degenerate_recordings_are_rejected_window_by_window(signal: np.ndarray) -> None:
    processed = run(RawRecording(signal.astype(np.float32), 250, "ECG"))
    assert processed.gate.rejected.all()
    assert np.isfinite(processed.windows).all()
