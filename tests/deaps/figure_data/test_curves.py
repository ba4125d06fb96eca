"""Training curves from logged rows."""

from __future__ import annotations

import pytest

from deaps.report.arrays import NotShownError
from deaps.report.training import training_curve


def rows(n: int, every: int = 5) -> list[dict[str, float]]:
    return [
        {
            "step": every * (k + 1), "step_s": 0.5, "loss": 1 / (k + 1), "windows_per_s": 100.0,
            "representation_std": 0.02, "effective_rank": 12.0, "static": 0.3,
        }
        for k in range(n)
    ]  # fmt: skip


def test_short_logs_are_drawn_whole() -> None:
    found = training_curve("deaps", rows(7))
    assert found.steps == (5, 10, 15, 20, 25, 30, 35)
    assert found.loss[1] == 0.5
    assert found.effective_rank == (12.0,) * 7


def test_long_logs_are_thinned_evenly_with_both_ends() -> None:
    found = training_curve("deaps", rows(6000))
    assert len(found.steps) == len(found.loss) == 200
    assert (found.steps[0], found.steps[-1]) == (5, 30000)
    gaps = [b - a for a, b in zip(found.steps, found.steps[1:], strict=False)]
    assert max(gaps) - min(gaps) <= 5


def test_time_is_that_of_all_steps_between_rows() -> None:
    logged = rows(3, every=10)
    logged[1]["step_s"] = 2.0
    assert training_curve("deaps", logged).seconds == 10 * 0.5 + 10 * 2.0 + 10 * 0.5


def test_thinning_leaves_the_time() -> None:
    assert training_curve("deaps", rows(1000)).seconds == pytest.approx(2500)


def test_a_row_that_is_not_finite_is_left_out_but_takes_its_time() -> None:
    logged = rows(3)
    logged[1]["loss"] = float("nan")
    found = training_curve("deaps", logged)
    assert found.steps == (5, 15)
    assert found.seconds == 7.5


def test_a_run_without_rows_is_refused() -> None:
    with pytest.raises(NotShownError, match="0 rows of metrics"):
        training_curve("deaps", [])
