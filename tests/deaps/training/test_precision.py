"""Which numbers ``auto`` stands for, and when that is settled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import deaps.train
from deaps.train import TrainingStoppedError, train_run
from deaps.training import device
from deaps.training.device import Precision, autocast_type, cpu_has_bfloat16, settle_precision
from deaps.training.metrics import read_metrics
from deaps.training.run_folder import create_run
from flows.config import load_settings
from flows.experiment.plan import training_plan
from tests.deaps.training.training_store import make_run, make_training_store


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
    monkeypatch.setattr(device, "cpu_has_bfloat16", lambda: native)
    plan = training_plan(load_settings(overrides=["execution.device=cpu"]), "deaps")
    assert plan.training.precision == expected


def test_what_is_asked_for_stands() -> None:
    assert settle_precision("float32", "cuda") == "float32"
    assert settle_precision("bfloat16", "cpu") == "bfloat16"
    assert settle_precision("auto", "mps") == "float32"


def test_a_run_goes_on_in_the_precision_that_was_settled_when_it_was_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine ``auto`` is bfloat16, on the one where the run goes on float32."""
    overrides = ["execution.device=cpu", "training.batch=2", "training.iterations=2"]
    used: list[torch.dtype | None] = []

    def noted(device: torch.device, wanted: Precision) -> torch.dtype | None:
        used.append(autocast_type(device, wanted))
        return used[-1]

    monkeypatch.setattr(deaps.train, "autocast_type", noted)
    monkeypatch.setattr(device, "cpu_has_bfloat16", lambda: True)
    plan = training_plan(load_settings(overrides=overrides), "clocs")
    run = create_run(make_training_store(tmp_path, subjects=2), plan)
    with pytest.raises(TrainingStoppedError):
        train_run(run.folder, device="cpu", stop=lambda: True)
    monkeypatch.setattr(device, "cpu_has_bfloat16", lambda: False)
    train_run(run.folder, device="cpu")
    assert run.finished
    assert set(used) == {torch.bfloat16}


def test_bfloat16_changes_the_losses_of_a_training_less_than_another_seed_does(
    tmp_path: Path,
) -> None:
    store = make_training_store(tmp_path)
    single = _losses(store, precision="float32")
    half = _losses(store, precision="bfloat16")
    other = _losses(store, precision="float32", seed=4)
    assert not np.array_equal(half, single)
    assert np.abs(half - single).mean() < 0.2 * np.abs(other - single).mean()


def _losses(store: Path, **training: object) -> np.ndarray:
    """Return the loss of every step of BYOL on few windows: it falls to two thirds."""
    run = make_run(store, "byol", batch=5, iterations=12, checkpoint_every=12, **training)
    train_run(run.folder, device="cpu")
    return np.array([row["loss"] for row in read_metrics(run.folder)])
