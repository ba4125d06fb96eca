"""What the gradual loss used at the end of a run."""

from __future__ import annotations

import math
from typing import Any

import pytest

from deaps.report.training import last_means


def row(step: int, value: float) -> dict[str, Any]:
    return {
        "step": step,
        "gradual": value,
        "gradual_swapped": 2 * value,
        "gradual_first": 3 * value,
        "gradual_other_subject": 4 * value,
    }


def test_the_last_twentieth_of_the_steps_is_averaged() -> None:
    rows = [row(step, float(step)) for step in range(10, 2001, 10)]
    mean = sum(range(1900, 2001, 10)) / 11
    expected = {"own": mean, "swapped": 2 * mean, "first": 3 * mean, "other_subject": 4 * mean}
    assert last_means(rows) == pytest.approx(expected)


def test_a_run_without_a_gradual_loss_has_none() -> None:
    assert last_means([{"step": 10, "loss": 1.0}]) is None
    assert last_means([]) is None


def test_rows_that_are_not_finite_are_left_out() -> None:
    assert last_means([row(10, 1.0), row(20, math.nan)]) == last_means([row(10, 1.0)])
