"""What SLURM is asked for, without SLURM."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.config import ExecutionSettings, SlurmSettings
from flows.runtime import slurm
from flows.runtime.dask_pool import WORKER_SETTINGS, worker_pool
from flows.runtime.slurm import SlurmError, torchrun_command, training_script, worker_environment


def test_jobs_have_the_memory_settings_of_local_workers() -> None:
    variables = worker_environment(WORKER_SETTINGS)
    for name in ("TARGET", "SPILL", "PAUSE", "TERMINATE"):
        assert variables[f"DASK_DISTRIBUTED__WORKER__MEMORY__{name}"] == "False"
    assert variables["OMP_NUM_THREADS"] == "1"
    assert variables["ARROW_DEFAULT_MEMORY_POOL"] == "system"


def script(execution: ExecutionSettings) -> str:
    return training_script(
        torchrun_command(Path("/store/runs/byol-1"), execution),
        name="deaps-byol-1",
        log=Path("/store/runs/byol-1/slurm.log"),
        slurm=execution.slurm,
        processes=execution.processes_per_node,
        nodes=execution.nodes,
    )


def test_a_training_asks_for_its_gpus_and_goes_on_after_a_requeue() -> None:
    options = SlurmSettings(training_partition="gpu", training_options=("--gres=gpu:2",))
    text = script(ExecutionSettings(slurm=options, processes_per_node=2))
    for line in ("--requeue", "--partition=gpu", "--gres=gpu:2", "--cpus-per-task=2"):
        assert f"#SBATCH {line}\n" in text
    assert "--nproc-per-node=2" in text
    assert "--standalone" in text
    assert "-m deaps.train /store/runs/byol-1" in text


def test_several_machines_meet_at_the_first() -> None:
    text = script(ExecutionSettings(nodes=2))
    assert "#SBATCH --nodes=2\n" in text
    assert "exec srun " in text
    assert '--rdzv-endpoint="$head:29400"' in text


def test_without_sbatch_the_message_says_where_to_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm.shutil, "which", lambda name: None)
    execution = ExecutionSettings(cluster="slurm")
    with (
        pytest.raises(SlurmError, match="no sbatch here; run it on a login node"),
        worker_pool(execution),
    ):
        pass
