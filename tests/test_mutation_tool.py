"""The tool that plants faults counts what mutmut leaves."""

from __future__ import annotations

import json
from pathlib import Path

from tests.mutation.__main__ import draw, results, summary


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


def test_the_same_seed_draws_the_same_mutants() -> None:
    mutants: dict[str, int | None] = {f"m{k}": None for k in range(50)}
    assert draw(mutants, 10, seed=1) == draw(mutants, 10, seed=1) != draw(mutants, 10, seed=2)
    assert len(draw(mutants, 100, seed=1)) == 50
