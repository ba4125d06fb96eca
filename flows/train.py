"""The training stage: methods on the published snapshot, recorded in the index."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from prefect import flow

from deaps.config import MethodName
from deaps.method_registry import DEAPS
from deaps.training.metrics import read_metrics
from deaps.training.run_folder import Run, TrainingPlan, create_run, open_run
from flows.config import ExecutionSettings, Settings
from flows.experiment.jobs import RunAddress, settings_at
from flows.experiment.plan import seeded_plans
from flows.monitoring.event_log import EventLog, log_publication, training_facts
from flows.monitoring.status import curve_page, last_row
from flows.runtime.console import say
from flows.runtime.flow_start import start_flow
from flows.runtime.orchestration import opaque, stage_task
from flows.runtime.processes import stopped_with_us, stopping_after_a_step
from flows.runtime.progress import StageProgress, leave_text
from flows.runtime.slurm import train_by_slurm
from storage.errors import DeapsError
from storage.files import RUNS_FOLDER
from storage.locks import training_lock, wait_for_steps
from storage.publish import republish

_FOLLOW_EVERY_S = 2.0


class TrainingFailedError(DeapsError):
    """A training in a process of its own did not reach its end."""


@flow(name="deaps-train")
def train(
    methods: list[MethodName] | None = None,
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    run: RunAddress | None = None,
) -> list[str]:
    """Train methods on the published snapshot, DEAPS by default; return the runs' names.

    With ``run`` train that run alone, which the pipeline has prepared.
    """
    settings, _ = start_flow(preset, config, overrides)
    if run is not None:
        settings = settings_at(settings, run)
        train_to_publication(open_run(settings.store.root / RUNS_FOLDER / run.name), settings)
        return [run.name]
    wanted = methods or [DEAPS.name]
    plans = [plan for name in wanted for plan in seeded_plans(settings, name)]
    return train_plans(settings, plans)


def train_plans(settings: Settings, plans: Sequence[TrainingPlan]) -> list[str]:
    """Train each plan that is not finished and return the runs' names; for use inside a flow.

    A training that fails does not stop the others; its error is raised when they are done.
    """
    runs = [create_run(settings.store.root, plan) for plan in plans]
    if not all(run.finished for run in runs):
        from flows.experiment.inputs import warn_of_refusals

        warn_of_refusals(settings, {plan.method: plan for plan in plans})
    at_once = trainings_at_once(settings.execution, len(runs))
    slots = threading.BoundedSemaphore(at_once)
    calls = [(opaque(run), opaque(settings), opaque(slots)) for run in runs]
    for result in train_one.run_all(calls, at_once=at_once):
        result()
    return [run.name for run in runs]


def trainings_at_once(execution: ExecutionSettings, n_runs: int) -> int:
    """Return how many trainings run side by side: all where a cluster queues them itself."""
    return max(1, n_runs) if execution.cluster == "slurm" else execution.trainings_at_once


@stage_task("train {run.name}")
def train_one(run: Run, settings: Settings, slots: threading.BoundedSemaphore) -> None:
    """Train a run when its turn has come."""
    with slots:
        train_to_publication(run, settings)


def train_to_publication(run: Run, settings: Settings) -> None:
    """Train a run to its end unless it is finished, and publish it in the index.

    One that another process finished meanwhile is published, too: that one may have been killed.
    """
    if run.finished:
        return
    log = EventLog(settings.store.root)
    with _alone(run, settings.execution):
        if not run.finished:
            with log.stage("train", **training_facts(run)):
                train_to_end(run.folder, settings.execution)
    show_curve(run)
    log_publication(log, republish(settings.store.root), stage="train")


@contextmanager
def _alone(run: Run, execution: ExecutionSettings) -> Iterator[None]:
    """Keep other trainings of the run away, but not its own ones on other machines.

    Processes of an earlier training that were left when it was killed end first. A job of SLURM
    is no such process: it is waited for where jobs are submitted.
    """
    if execution.nodes > 1:
        yield
        return
    with training_lock(run.folder, say_waiting=say):
        if execution.cluster != "slurm":
            wait_for_steps(run.folder, say_waiting=say)
        yield


def train_to_end(folder: Path, execution: ExecutionSettings) -> None:
    """Train the run in ``folder`` to its end: as a job, here, beside others, or in processes."""
    if execution.cluster == "slurm":
        train_as_job(folder, execution)
    elif execution.processes_per_node > 1 or execution.nodes > 1:
        train_in_processes(folder, execution)
    elif execution.trainings_at_once > 1:
        train_beside_others(folder, execution)
    else:
        train_here(folder, execution)


def train_here(folder: Path, execution: ExecutionSettings) -> None:
    """Train in this process, with a progress bar; a signal stops it with a checkpoint."""
    from deaps.train import TrainingStoppedError, train_run

    run = open_run(folder)
    title = f"training {run.name}: steps"
    with (
        stopping_after_a_step() as signals,
        StageProgress(title, run.plan.iterations, key="training") as progress,
    ):

        def report(step: int, _: int, row: dict[str, float]) -> None:
            progress.advance(step - progress.done, f"loss {row['loss']:.4f}")

        try:
            train_run(folder, device=execution.device, progress=report, say=say, stop=signals.asked)
        except TrainingStoppedError as error:
            progress.stop()
            signals.deliver(str(error))
            raise


def train_in_processes(folder: Path, execution: ExecutionSettings) -> None:
    """Train with torchrun, ``processes_per_node`` processes on each of ``nodes`` machines."""
    command = [
        sys.executable, "-m", "torch.distributed.run",
        f"--nproc-per-node={execution.processes_per_node}",
        f"--nnodes={execution.nodes}",
        *(["--standalone"] if execution.nodes == 1 else
          ["--rdzv-backend=c10d", f"--rdzv-endpoint={execution.rendezvous}"]),
        "-m", "deaps.train", str(folder), f"--device={execution.device}",
    ]  # fmt: skip
    _run_process(command)


def train_as_job(folder: Path, execution: ExecutionSettings) -> None:
    """Train as a job of SLURM, and follow its steps by its metrics."""
    run = open_run(folder)
    with StageProgress(f"training {run.name}", run.plan.iterations, key="training") as progress:
        train_by_slurm(
            folder,
            execution,
            is_done=lambda: run.finished,
            follow=lambda: _follow(folder, progress),
        )


def _follow(folder: Path, progress: StageProgress) -> None:
    """Move the progress to the last step that a training's metrics tell of."""
    step = int(last_row(folder).get("step", 0))
    if step > progress.done:
        progress.advance(step - progress.done)


def train_beside_others(folder: Path, execution: ExecutionSettings) -> None:
    """Train in a process of its own with one thread, and follow its steps by its metrics."""
    run = open_run(folder)
    command = [sys.executable, "-m", "deaps.train", str(folder), f"--device={execution.device}"]
    with StageProgress(f"training {run.name}", run.plan.iterations, key="training") as progress:
        _run_process(command, lambda: _follow(folder, progress))


def _run_process(command: list[str], follow: Callable[[], None] = lambda: None) -> None:
    """Run a training process to its end, calling ``follow`` now and then."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=env) as process, stopped_with_us(process):
        while process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_FOLLOW_EVERY_S)
            follow()
    if process.returncode:
        raise TrainingFailedError(
            f"a training process ended with {process.returncode}; its last lines above say why. "
            "What was done is kept: run the same command again"
        )


def show_curve(run: Run) -> None:
    """Leave the loss curve and the measures of collapse in Prefect's pages."""
    leave_text(curve_page(run.name, read_metrics(run.folder)), key="training-curve")
