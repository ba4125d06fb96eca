"""Kernel densities against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deaps.report.pca import common_grid, density


def test_density_equals_that_of_scipy() -> None:
    sample = np.random.default_rng(0).standard_normal(3000)
    grid = common_grid(sample)
    expected = stats.gaussian_kde(sample, bw_method=0.9 * 3000**-0.2)(grid)
    np.testing.assert_allclose(density(sample, grid), expected, atol=0.01)


def test_density_of_one_value_is_a_bump_that_integrates_to_one() -> None:
    grid = np.linspace(-1, 1, 100)
    assert np.trapezoid(density(np.zeros(50), grid), grid) == pytest.approx(1, abs=0.01)


def test_an_outlier_does_not_stretch_the_grid() -> None:
    sample = np.append(np.random.default_rng(0).standard_normal(5000), 1000.0)
    assert common_grid(sample)[-1] < 10
