"""SLURM: Dask workers as jobs of a cluster, and trainings as jobs that go on after a kill."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deaps.training.run_folder import clear_failure, read_failure
from flows.runtime.console import notify
from flows.runtime.processes import starts_again
from storage.errors import DeapsError
from storage.files import store_id
from storage.packages import require_extra

if TYPE_CHECKING:
    from distributed import Client

    from deaps.training.run_folder import Run
    from flows.config import ExecutionSettings, SlurmSettings

_POLL_S = 5.0
_COMMAND_S = 60


def worker_environment(dask_settings: Mapping[str, Any]) -> dict[str, str]:
    """Return Dask's settings for workers as the variables of a job that starts some.

    ``distributed.worker.memory.target`` is ``DASK_DISTRIBUTED__WORKER__MEMORY__TARGET``; what a
    local cluster gives its workers as environment is in a job's environment itself.
    """
    variables: dict[str, str] = {}
    for name, value in dask_settings.items():
        if isinstance(value, Mapping):
            variables |= {key: str(item) for key, item in value.items()}
        else:
            words = name.upper().replace("-", "_").split(".")
            variables[f"DASK_{'__'.join(words)}"] = str(value)
    return variables


@contextmanager
def slurm_workers(
    execution: ExecutionSettings, dask_settings: Mapping[str, Any]
) -> Iterator[Client]:
    """Yield a Dask client whose workers are jobs of a SLURM cluster; lost ones are replaced.

    Raises
    ------
    DeapsError
        If SLURM refuses such a job, or starts none in time.
    """
    require_extra("slurm", "dask_jobqueue")
    _require_sbatch()
    import dask
    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Client

    slurm = execution.slurm
    exports = worker_environment(dask_settings).items()
    with dask.config.set(dask_settings):
        cluster = SLURMCluster(
            cores=1,
            processes=1,
            memory=slurm.memory,
            queue=slurm.partition,
            account=slurm.account,
            walltime=slurm.walltime,
            interface=slurm.interface,
            job_name="deaps-worker",
            python=sys.executable,
            job_extra_directives=list(slurm.worker_options),
            job_script_prologue=[f"export {name}={shlex.quote(text)}" for name, text in exports],
            # Pages of memory maps count as a worker's own: Dask must not limit them.
            worker_extra_args=["--memory-limit", "0"],
        )
        with cluster, Client(cluster) as client:
            check_job(str(cluster.job_script()))
            cluster.adapt(minimum_jobs=slurm.jobs, maximum_jobs=slurm.jobs)
            _wait_for_worker(client, execution.pool_patience_s)
            yield client


def _wait_for_worker(client: Client, patience_s: float) -> None:
    notify("waiting for SLURM to start workers (squeue shows them as deaps-worker)")
    try:
        client.wait_for_workers(1, timeout=patience_s)
    except TimeoutError:
        raise DeapsError(
            f"SLURM started no worker within {patience_s:.0f} s (execution.pool_patience_s); "
            "see squeue, and try again when the cluster has room"
        ) from None


def _require_sbatch() -> None:
    if shutil.which("sbatch") is None:
        raise DeapsError(
            "execution.cluster is 'slurm', but there is no sbatch here; run it on a login node"
        )


def check_job(script: str) -> None:
    """Ask SLURM whether it would take a job, without submitting it.

    Raises
    ------
    DeapsError
        If not, with SLURM's reason.
    """
    asked = _slurm("sbatch", "--test-only", given=script)
    if asked.returncode:
        raise DeapsError(
            f"SLURM refuses such a job: {asked.stderr.strip()}; see execution.slurm (partition, "
            "account, walltime, memory, options)"
        )


def training_script(
    command: list[str], *, name: str, log: Path, slurm: SlurmSettings, processes: int, nodes: int
) -> str:
    """Return the batch script of a training; ``--requeue`` lets it go on after a node's failure.

    ``command`` continues from the last checkpoint by itself.
    """
    options = [
        f"--job-name={name}", f"--output={log}", "--open-mode=append", "--requeue",
        f"--nodes={nodes}", "--ntasks-per-node=1", f"--cpus-per-task={processes}",
        f"--mem={slurm.training_memory}", f"--time={slurm.training_walltime}",
        *([f"--partition={slurm.training_partition}"] if slurm.training_partition else []),
        *([f"--account={slurm.account}"] if slurm.account else []),
        *slurm.training_options,
    ]  # fmt: skip
    lines = ["#!/bin/sh", *(f"#SBATCH {option}" for option in options)]
    launch = shlex.join(command)
    if nodes > 1:  # the machines meet at the first one
        lines.append('head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)')
        launch = "srun " + launch.replace("RENDEZVOUS", '"$head:29400"')
    return "\n".join([*lines, "export OMP_NUM_THREADS=1", f"exec {launch}", ""])


def train_by_slurm(
    run: Run, execution: ExecutionSettings, *, follow: Callable[[], None] = lambda: None
) -> None:
    """Train a run as a job; one that is queued already is waited for.

    Raises
    ------
    DeapsError
        If SLURM refuses the job, or it ended too often before the training did.
    """
    _require_sbatch()
    folder = run.folder
    name, log = job_name(folder), folder / "slurm.log"
    script = training_script(
        torchrun_command(folder, execution, rendezvous="RENDEZVOUS"),
        name=name,
        log=log,
        slurm=execution.slurm,
        processes=execution.processes_per_node,
        nodes=execution.nodes,
    )
    (folder / "slurm.sh").write_text(script, encoding="utf-8")
    check_job(script)
    attempts = 0
    while True:
        attempts += 1
        job = _queued(name)
        if job is None:
            clear_failure(folder)
            job = _submit(script)
        while job == _queued(name):
            time.sleep(_POLL_S)
            follow()
        if run.finished:
            return
        if reason := read_failure(folder):
            raise DeapsError(reason)
        if not starts_again(f"run {run.name}", attempts, f"SLURM's job {job} ended"):
            raise DeapsError(
                f"{run.name}: {attempts} jobs ended before the training did; {log} ends with: "
                f"{_tail(log)}"
            )


def job_name(folder: Path) -> str:
    """Return the name of the job that trains a run: two stores may have runs of the same name."""
    return f"deaps-{folder.name}-{store_id(folder.parents[1])[:8]}"


def torchrun_command(
    folder: Path, execution: ExecutionSettings, *, rendezvous: str | None = None
) -> list[str]:
    """Return the command that trains in ``processes_per_node`` processes on each of ``nodes``.

    Machines meet at ``rendezvous``, by default that of the settings.
    """
    where = rendezvous or execution.rendezvous
    meeting = (
        ["--standalone"]
        if execution.nodes == 1
        else ["--rdzv-backend=c10d", f"--rdzv-endpoint={where}"]
    )
    return [
        sys.executable, "-m", "torch.distributed.run",
        f"--nproc-per-node={execution.processes_per_node}", f"--nnodes={execution.nodes}",
        *meeting, "-m", "deaps.train", str(folder), f"--device={execution.device}",
    ]  # fmt: skip


def _submit(script: str) -> str:
    done = _slurm("sbatch", "--parsable", given=script)
    if done.returncode:
        raise DeapsError(f"SLURM refuses the job: {done.stderr.strip()}")
    return done.stdout.strip().partition(";")[0]


def _queued(name: str) -> str | None:
    """Return the id of the job of that name that waits or runs, None without one.

    A controller that does not answer is asked again: its jobs go on without it.
    """
    asked = _slurm("squeue", "--noheader", "--me", f"--name={name}", "--format=%i")
    while asked.returncode:
        notify(f"SLURM does not answer ({asked.stderr.strip()}); asking again")
        time.sleep(_POLL_S)
        asked = _slurm("squeue", "--noheader", "--me", f"--name={name}", "--format=%i")
    ids: list[str] = asked.stdout.split()
    return ids[0] if ids else None


def _slurm(*command: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_S,
            env=os.environ,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"no answer within {_COMMAND_S} s")


def _tail(log: Path) -> str:
    try:
        return log.read_text(errors="replace").strip()[-300:]
    except OSError:
        return "nothing"
