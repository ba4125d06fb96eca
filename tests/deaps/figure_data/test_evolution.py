"""Fitted polynomials against numpy's normal equations."""

from __future__ import annotations

import numpy as np
import pytest

from deaps.report.arrays import NotShownError
from deaps.report.evolution import evolution_data

STEPS = [0, 100, 200, 400, 800, 1200]
VALUES = [0.5, 0.61, 0.66, 0.7, 0.69, 0.74]


def test_curve_is_the_least_squares_polynomial() -> None:
    found = evolution_data("deaps", "challenge", "accuracy", STEPS, VALUES)
    share = np.array(STEPS) / 1200
    powers = share[:, np.newaxis] ** np.arange(4)
    weights = np.linalg.solve(powers.T @ powers, powers.T @ np.array(VALUES))
    expected = np.linspace(0, 1, 100)[:, np.newaxis] ** np.arange(4) @ weights
    np.testing.assert_allclose(found.fitted, expected, atol=1e-5)
    assert found.degree == 3


def test_curve_runs_from_the_first_step_to_the_last() -> None:
    found = evolution_data("deaps", "challenge", "accuracy", STEPS, VALUES)
    assert len(found.fitted_steps) == len(found.fitted) == 100
    assert (found.fitted_steps[0], found.fitted_steps[-1]) == (0, 1200)


@pytest.mark.parametrize(("points", "degree"), [(2, 1), (3, 1), (4, 2), (5, 3), (6, 3)])
def test_degree_leaves_two_points_over(points: int, degree: int) -> None:
    found = evolution_data("deaps", "challenge", "accuracy", STEPS[:points], VALUES[:points])
    assert found.degree == degree


def test_steps_are_put_in_order_with_their_values() -> None:
    found = evolution_data("deaps", "challenge", "accuracy", [300, 100, 200], [3.0, 1.0, 2.0])
    assert (found.steps, found.values) == ((100, 200, 300), (1.0, 2.0, 3.0))


def test_curve_may_leave_the_range_of_a_share() -> None:
    found = evolution_data("deaps", "challenge", "accuracy", [0, 1, 2, 3], [1.0, 1.0, 1.0, 0.0])
    assert max(found.fitted) > 1


def test_gain_of_a_doubling_is_the_slope_over_the_logarithm_with_its_standard_error() -> None:
    found = evolution_data("deaps", "challenge", "accuracy", STEPS, VALUES)
    doublings, figures = np.log2(STEPS[1:]), np.array(VALUES[1:])
    about = doublings - doublings.mean()
    slope = about @ figures / (about @ about)
    residuals = figures - figures.mean() - slope * about
    error = np.sqrt(residuals @ residuals / 3 / (about @ about))
    assert found.doubling_gain == pytest.approx(slope)
    assert found.doubling_error == pytest.approx(error)


@pytest.mark.parametrize(
    ("points", "gain", "error"), [(2, None, None), (3, pytest.approx(0.05), None)]
)
def test_gain_of_a_doubling_needs_two_steps_after_the_first_and_its_error_three(
    points: int, gain: object, error: object
) -> None:
    found = evolution_data("deaps", "challenge", "accuracy", STEPS[:points], VALUES[:points])
    assert (found.doubling_gain, found.doubling_error) == (gain, error)


def test_one_step_is_refused() -> None:
    with pytest.raises(NotShownError, match="1 different steps"):
        evolution_data("deaps", "challenge", "accuracy", [5, 5], [0.5, 0.6])
