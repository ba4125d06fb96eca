"""The tool that plants faults counts what mutmut leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mutation.__main__ import draw, is_untried, results, summary


def test_a_summary_counts_what_was_tried_and_names_what_was_not_killed(tmp_path: Path) -> None:
    codes = {"m.a__1": 1, "m.a__2": 0, "m.b__1": 33, "m.b__2": None, "m.c__1": -24}
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "m.py.meta").write_text(json.dumps({"exit_code_by_key": codes}))
    assert results(tmp_path) == codes
    assert summary(results(tmp_path)).splitlines() == [
        "2 of 4 mutants killed (50.0 %)",
        "survived: m.a__2",
        "reached by no test: m.b__1",
    ]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (2, "interrupted"),
        (5, "reached by no test"),
        (33, "reached by no test"),
        (34, "skipped"),
        (35, "suspicious"),
        (99, "suspicious"),
    ],
)
def test_what_no_test_failed_on_is_not_killed(code: int, status: str) -> None:
    assert summary({"m": code}) == f"0 of 1 mutants killed (0.0 %)\n{status}: m"


@pytest.mark.parametrize("code", [1, 3, 36, 24, -24, 152, 255, -11, -9])
def test_a_test_that_fails_hangs_or_crashes_kills(code: int) -> None:
    assert summary({"m": code}) == "1 of 1 mutants killed (100.0 %)"


def test_a_mutant_at_which_somebody_stopped_is_tried_again() -> None:
    assert [code for code in (None, 2, 0, 1, 33) if is_untried(code)] == [None, 2]


def test_the_same_seed_draws_the_same_mutants() -> None:
    mutants: dict[str, int | None] = {f"m{k}": None for k in range(50)}
    assert draw(mutants, 10, seed=1) == draw(mutants, 10, seed=1) != draw(mutants, 10, seed=2)
    assert len(draw(mutants, 100, seed=1)) == 50
