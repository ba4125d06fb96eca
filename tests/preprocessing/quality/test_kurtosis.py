"""kSQI against scipy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from preprocessing.quality import kurtosis


def test_kurtosis_equals_scipys_pearson_kurtosis() -> None:
    windows = np.random.default_rng(0).standard_t(4, size=(20, 1000))
    expected = scipy.stats.kurtosis(windows, axis=1, fisher=False)
    np.testing.assert_allclose(kurtosis(windows), expected, rtol=1e-12)


def test_kurtosis_of_two_values_in_equal_shares_is_one() -> None:
    assert kurtosis(np.tile([-2.0, 5.0], (1, 500))) == pytest.approx(1)


def test_kurtosis_of_a_constant_is_nan() -> None:
    assert np.isnan(kurtosis(np.full((1, 1000), -3.5))).all()
