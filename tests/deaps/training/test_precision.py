"""Which numbers ``auto`` stands for, and when that is settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from deaps.training import precision
from deaps.training.precision import cpu_has_bfloat16, settle_precision
from flows.config import load_settings
from flows.experiment.plan import training_plan


@pytest.mark.parametrize(
    ("flags", "native"),
    [("avx2 avx512f", False), ("avx512f avx512_bf16", True), ("amx_bf16 amx_tile", True)],
)
def test_the_processor_says_whether_it_has_bfloat16(
    tmp_path: Path, flags: str, native: bool
) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor\t: 0\nflags\t\t: fpu {flags}\n")
    assert cpu_has_bfloat16(cpuinfo) is native


def test_without_cpuinfo_there_is_no_bfloat16(tmp_path: Path) -> None:
    assert cpu_has_bfloat16(tmp_path / "none") is False


@pytest.mark.parametrize(("native", "expected"), [(True, "bfloat16"), (False, "float32")])
def test_auto_is_settled_in_the_plan_and_so_in_the_runs_name(
    monkeypatch: pytest.MonkeyPatch, native: bool, expected: str
) -> None:
    monkeypatch.setattr(precision, "cpu_has_bfloat16", lambda: native)
    plan = training_plan(load_settings(overrides=["execution.device=cpu"]), "deaps")
    assert plan.training.precision == expected


def test_what_is_asked_for_stands() -> None:
    assert settle_precision("float32", "cuda") == "float32"
    assert settle_precision("bfloat16", "cpu") == "bfloat16"
    assert settle_precision("auto", "mps") == "float32"
