"""Average ranks of methods over benchmarks."""

from __future__ import annotations

import numpy as np
import pytest

from deaps.evaluation.comparisons import average_ranks, critical_difference


def test_the_highest_figure_ranks_first_and_equal_ones_share() -> None:
    ranks = average_ranks(
        {"x": {"a": 0.9, "b": 0.7, "c": 0.7}, "y": {"a": 0.1, "b": 0.2, "c": 0.3}},
        "accuracy",
    )
    assert ranks.by_benchmark["x"] == {"a": 1.0, "b": 2.5, "c": 2.5}
    assert ranks.by_benchmark["y"] == {"a": 3.0, "b": 2.0, "c": 1.0}
    assert ranks.mean == {"c": 1.75, "a": 2.0, "b": 2.25}
    assert list(ranks.mean) == ["c", "a", "b"]


@pytest.mark.parametrize("missing", [{"a": 0.5}, {"a": 0.5, "b": np.nan}])
def test_a_benchmark_without_all_methods_is_left_out(missing: dict[str, float]) -> None:
    ranks = average_ranks({"x": {"a": 0.9, "b": 0.7}, "y": missing}, "accuracy")
    assert ranks.left_out == ("y",)
    assert ranks.mean == {"a": 1.0, "b": 2.0}
    assert ranks.critical_difference is None


def test_without_benchmarks_there_are_no_ranks() -> None:
    assert average_ranks({}, "accuracy").mean == {}


def test_critical_difference_equals_the_published_table() -> None:
    """Demsar, 2006, table 5: q is 2.850 for 6 classifiers at the 5 % level."""
    expected = 2.850 * np.sqrt(6 * 7 / (6 * 14))
    assert critical_difference(6, 14) == pytest.approx(expected, abs=2e-3)
