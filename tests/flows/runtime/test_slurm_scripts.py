"""What SLURM is asked for, without SLURM."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest

from deaps.training.run_folder import note_failure
from flows.config import ExecutionSettings, SlurmSettings
from flows.runtime import slurm
from flows.runtime.dask_pool import WORKER_SETTINGS, worker_pool
from flows.runtime.slurm import (
    job_name,
    torchrun_command,
    train_by_slurm,
    training_script,
    worker_environment,
)
from storage.errors import DeapsError


def test_jobs_have_the_memory_settings_of_local_workers() -> None:
    variables = worker_environment(WORKER_SETTINGS)
    for name in ("TARGET", "SPILL", "PAUSE", "TERMINATE"):
        assert variables[f"DASK_DISTRIBUTED__WORKER__MEMORY__{name}"] == "False"
    assert variables["OMP_NUM_THREADS"] == "1"
    assert variables["ARROW_DEFAULT_MEMORY_POOL"] == "system"


def script(execution: ExecutionSettings) -> str:
    return training_script(
        torchrun_command(Path("/store/runs/byol-1"), execution, rendezvous="RENDEZVOUS"),
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
        pytest.raises(DeapsError, match="no sbatch here; run it on a login node"),
        worker_pool(execution),
    ):
        pass


def test_runs_of_the_same_name_in_two_stores_are_two_jobs(tmp_path: Path) -> None:
    here, there = (job_name(tmp_path / store / "runs/byol-1") for store in ("here", "there"))
    assert here != there
    assert here == job_name(tmp_path / "here/runs/byol-1")
    assert here.startswith("deaps-byol-1-")


class Cluster:
    """SLURM's commands, made up: every answer in turn, the last one for ever."""

    def __init__(self, **answers: list[tuple[int, str, str]]) -> None:
        self.answers, self.asked = answers, list[str]()

    def __call__(self, *command: str, given: str | None = None) -> CompletedProcess[str]:
        name = " ".join(command[:2]).replace("--", "").replace(" ", "_").replace("-", "_")
        self.asked.append(name)
        left = self.answers[name]
        answer = left.pop(0) if len(left) > 1 else left[0]
        return CompletedProcess(command, *answer)


@pytest.fixture
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(slurm.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(slurm, "_POLL_S", 0.0)
    folder = tmp_path / "store/runs/byol-1"
    folder.mkdir(parents=True)
    return folder


def unfinished(folder: Path) -> Any:
    return SimpleNamespace(folder=folder, name=folder.name, finished=False)


def finished(folder: Path) -> Any:
    return SimpleNamespace(folder=folder, name=folder.name, finished=True)


YES, NONE = (0, "", ""), (0, "", "")


def test_a_refused_training_has_the_words_of_slurm(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(sbatch_test_only=[(1, "", "invalid partition specified: gpus")])
    monkeypatch.setattr(slurm, "_slurm", cluster)
    with pytest.raises(DeapsError, match="refuses such a job: invalid partition specified: gpus"):
        train_by_slurm(unfinished(run_folder), ExecutionSettings())
    assert cluster.asked == ["sbatch_test_only"]


def test_a_limit_that_only_counts_at_submission_has_the_words_of_slurm(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = (1, "", "QOSMaxSubmitJobPerUserLimit")
    cluster = Cluster(sbatch_test_only=[YES], squeue_noheader=[NONE], sbatch_parsable=[refusal])
    monkeypatch.setattr(slurm, "_slurm", cluster)
    with pytest.raises(DeapsError, match="refuses the job: QOSMaxSubmitJobPerUserLimit"):
        train_by_slurm(unfinished(run_folder), ExecutionSettings())


def test_a_job_of_an_earlier_command_is_waited_for(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = [(0, "7\n", ""), (1, "", "slurmctld is gone"), (0, "7\n", ""), NONE]
    cluster = Cluster(sbatch_test_only=[YES], squeue_noheader=queue)
    monkeypatch.setattr(slurm, "_slurm", cluster)
    train_by_slurm(finished(run_folder), ExecutionSettings())
    assert "sbatch_parsable" not in cluster.asked


def test_a_job_that_always_ends_too_early_fails_with_the_end_of_its_log(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run_folder / "slurm.log").write_text("out of memory")
    cluster = Cluster(
        sbatch_test_only=[YES], squeue_noheader=[NONE], sbatch_parsable=[(0, "8\n", "")]
    )
    monkeypatch.setattr(slurm, "_slurm", cluster)
    with pytest.raises(DeapsError, match=r"5 jobs ended before .* ends with: out of memory"):
        train_by_slurm(unfinished(run_folder), ExecutionSettings())
    assert cluster.asked.count("sbatch_parsable") == 5


def test_a_job_that_says_why_it_failed_is_not_started_again(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*command: str, given: str | None = None) -> CompletedProcess[str]:
        answer = cluster(*command, given=given)
        if "--parsable" in command:
            note_failure(run_folder, "the loss is nan at step 7")
        return answer

    cluster = Cluster(
        sbatch_test_only=[YES], squeue_noheader=[NONE], sbatch_parsable=[(0, "8\n", "")]
    )
    note_failure(run_folder, "of an earlier job")
    monkeypatch.setattr(slurm, "_slurm", fail)
    with pytest.raises(DeapsError, match="the loss is nan at step 7"):
        train_by_slurm(unfinished(run_folder), ExecutionSettings())
    assert cluster.asked.count("sbatch_parsable") == 1
