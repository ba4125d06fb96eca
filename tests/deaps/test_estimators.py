"""The scikit-learn transformers: shapes, means, composition, estimator checks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import (
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    parametrize_with_checks,
)
from sklearn.utils.validation import _check_n_features, check_array

from deaps import EcgEncoder, Encoder
from deaps.embed import embed_windows
from preprocessing.transformers import EcgWindows
from tests.deaps.models.made_encoder import write_encoder
from tests.edf_files import beats

RATE = 250


@pytest.fixture
def encoder() -> Encoder:
    torch.manual_seed(0)
    return Encoder()


def signals(n: int, seconds: float = 35) -> np.ndarray:
    return np.stack([beats(seconds, RATE, rate=50 + 10 * k, seed=k) for k in range(n)])


def test_windows_have_one_row_for_each_recording() -> None:
    windows = EcgWindows(fs=RATE).fit_transform(signals(4))
    assert windows.shape == (4, 3, 1000)
    assert windows.dtype == np.float32


def test_shorter_recordings_have_nan_windows() -> None:
    windows = EcgWindows(fs=RATE).fit_transform([beats(35, RATE), beats(12, RATE), beats(4, RATE)])
    finite = np.isfinite(windows).all(axis=2)
    assert finite.tolist() == [[True] * 3, [True, False, False], [False] * 3]


def test_windows_are_those_of_the_signal_chain() -> None:
    from preprocessing.chain import process
    from preprocessing.config import QualitySettings, SignalSettings
    from preprocessing.recording import RawRecording

    raw = RawRecording(beats(35, RATE).astype(np.float32), RATE, "ECG")
    stored = process(raw, signal=SignalSettings(), quality=QualitySettings()).windows
    ours = EcgWindows(fs=RATE).fit_transform(beats(35, RATE)[None])[0]
    np.testing.assert_array_equal(ours, stored.astype(np.float32))


def test_representation_is_the_mean_over_windows(encoder: Encoder) -> None:
    windows = EcgWindows(fs=RATE).fit_transform(signals(2))
    found = EcgEncoder(encoder=encoder).fit_transform(windows)
    each = embed_windows(encoder, windows.reshape(-1, 1000)).reshape(2, 3, 128)
    np.testing.assert_allclose(found, each.mean(axis=1), atol=1e-6)


def test_missing_windows_do_not_count(encoder: Encoder) -> None:
    long, short = beats(35, RATE), beats(12, RATE, seed=1)
    together = EcgWindows(fs=RATE).fit_transform([long, short])
    alone = EcgWindows(fs=RATE).fit_transform(short[None])
    transformer = EcgEncoder(encoder=encoder).fit(together)
    np.testing.assert_allclose(
        transformer.transform(together)[1], transformer.transform(alone)[0], atol=1e-6
    )


def test_recording_without_a_window_is_nan(encoder: Encoder) -> None:
    windows = EcgWindows(fs=RATE).fit_transform([beats(35, RATE), beats(4, RATE)])
    found = EcgEncoder(encoder=encoder).fit_transform(windows)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


def test_pipeline_tells_slow_hearts_from_fast(encoder: Encoder) -> None:
    slow = [beats(35, RATE, rate=50 + k, seed=k) for k in range(8)]
    fast = [beats(35, RATE, rate=110 + k, seed=k) for k in range(8)]
    labels = [0] * 8 + [1] * 8
    pipeline = make_pipeline(
        EcgWindows(fs=RATE), EcgEncoder(encoder=encoder), StandardScaler(), SVC()
    )
    assert pipeline.fit(slow + fast, labels).score(slow + fast, labels) > 0.9


def test_encoder_can_come_from_a_file(encoder: Encoder, tmp_path: Path) -> None:
    path = tmp_path / "encoder.safetensors"
    write_encoder(path, encoder)
    windows = EcgWindows(fs=RATE).fit_transform(signals(2))
    np.testing.assert_array_equal(
        EcgEncoder(path).fit_transform(windows),
        EcgEncoder(encoder=encoder).fit_transform(windows),
    )


class AnyWidth(EcgEncoder):
    """An encoder of rows of any width: scikit-learn's checks use a handful of features."""

    def fit(self, X: object, y: object = None) -> AnyWidth:
        self._reset = True
        super().fit(X)
        self.n_features_in_ = self._width
        return self

    def _windows(self, X: object) -> np.ndarray:
        rows = check_array(X, dtype=np.float32, ensure_all_finite=False, estimator=self)
        _check_n_features(self, rows, reset=self.__dict__.pop("_reset", False))
        self._width = rows.shape[1]
        return super()._windows(np.pad(rows, [(0, 0), (0, 1000 - rows.shape[1])]))


OTHER_LENGTHS = "recordings may have other lengths than those it was fitted on"
EXPECTED = {
    "EcgWindows": {
        "check_n_features_in_after_fitting": OTHER_LENGTHS,
        "check_transformer_general": OTHER_LENGTHS,
    },
    "AnyWidth": {
        "check_estimators_overwrite_params": "joblib hashes the copy of a torch module otherwise"
    },
}


@parametrize_with_checks(
    [EcgWindows(), AnyWidth(encoder=Encoder())],
    expected_failed_checks=lambda estimator: EXPECTED[type(estimator).__name__],
)
def test_scikit_learns_estimator_checks(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("estimator", [EcgWindows(), EcgEncoder()])
def test_estimator_checks_without_data(estimator: EcgWindows | EcgEncoder) -> None:
    name = type(estimator).__name__
    check_parameters_default_constructible(name, estimator)
    check_no_attributes_set_in_init(name, estimator)
    assert clone(estimator).get_params() == estimator.get_params()


@pytest.mark.parametrize("shape", [(3, 999), (3, 2, 1001), (1000,)])
def test_other_shapes_are_refused(encoder: Encoder, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="xpected"):
        EcgEncoder(encoder=encoder).fit(np.zeros(shape, np.float32))


def test_rate_must_be_positive() -> None:
    with pytest.raises(ValueError, match="above 0 Hz"):
        EcgWindows(fs=0).fit(signals(1))
