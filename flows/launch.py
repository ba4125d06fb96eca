"""Where trainings and embeddings run, and what follows when the process of a training dies.

A training runs in this process, in processes of its own, under torchrun, as a job of SLURM or in
the pool of GPU machines of a Prefect server. Everywhere one rule holds: a training that says why
it failed is not started again; one whose process is gone is, from its last checkpoint, at most
`ATTEMPTS` times.

Only trainings and embeddings are submitted to a pool, by the name of a run, to deployments without
a limit: the run's own lock keeps it single. Every other stage runs in the pipeline's process. So a
pipeline never waits for a slot that it holds itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from deaps.training.metrics import read_metrics
from deaps.training.run_folder import Run, clear_failure, read_failure
from flows.config import ExecutionSettings, Settings
from flows.experiment.jobs import address_of
from flows.experiment.state import load_state
from flows.monitoring.event_log import EventLog, log_publication, training_facts
from flows.monitoring.status import curve_page, last_row
from flows.runtime.console import notify
from flows.runtime.dask_pool import warn_of_locks
from flows.runtime.gpu_pool import PoolError, PoolJob, live_workers, own_pool, pool_of, run_in_pool
from flows.runtime.prefect_glue import (
    in_flow,
    is_server_gone,
    publish_text,
    run_side_by_side,
    run_stage,
    skip_stage,
)
from flows.runtime.processes import (
    STOPPED,
    starts_again,
    stopped_with_us,
    stopping_after_a_step,
)
from flows.runtime.progress import StageProgress
from flows.runtime.run_context import RunContext, StageParameters
from flows.runtime.server_address import named_server
from flows.runtime.slurm import torchrun_command, train_by_slurm
from storage.errors import DeapsError
from storage.locks import training_lock, wait_for_steps
from storage.publish import republish

TRAIN_DEPLOYMENT = "deaps-train/run"
EMBED_DEPLOYMENT = "deaps-embed/run"
_FOLLOW_EVERY_S = 2.0


def train_runs(context: RunContext, runs: Sequence[Run]) -> dict[str, str]:
    """Train runs where they belong; return why some failed, by name. One does not stop others."""
    execution, store = context.settings.execution, context.settings.store.root
    pool = find_pool(execution, TRAIN_DEPLOYMENT)
    if pool is None:
        return _failures(runs, train_here(context, runs))
    warn_of_locks(store)
    jobs = [
        _job("train", run.name, store, context.parameters, partial(getattr, run, "finished"))
        for run in runs
    ]
    failures = run_in_pool(TRAIN_DEPLOYMENT, pool, jobs, patience_s=execution.pool_patience_s)
    return {name.removeprefix("train "): why for name, why in failures.items()}


def train_here(context: RunContext, runs: Sequence[Run]) -> list[Callable[[], None]]:
    """Train runs in this process, or as processes or jobs that it starts, some at once.

    Return functions that return or raise what each training did.
    """

    def train(run: Run) -> None:
        shown = {
            "run": address_of(context.settings.store.root, run.name).model_dump(),
            **context.parameters.as_dict(),
        }
        body = partial(train_run, run, context.settings)
        run_stage("deaps-train", body, shown, run_name=f"train {run.name}")

    execution = context.settings.execution
    # A cluster queues its jobs itself.
    at_once = len(runs) if execution.cluster == "slurm" else execution.trainings_at_once
    return run_side_by_side(train, [(run,) for run in runs], at_once=max(1, at_once))


def _failures(runs: Sequence[Run], results: Sequence[Callable[[], None]]) -> dict[str, str]:
    """Return why trainings failed, by name; a fault of ours keeps its traceback."""
    failures: dict[str, str] = {}
    for run, result in zip(runs, results, strict=True):
        try:
            result()
        except Exception as error:  # the others went on; the pipeline says at its end what failed
            if is_server_gone(error):  # no fault of the training: all of it is done without
                raise
            if not isinstance(error, DeapsError | OSError):
                traceback.print_exception(error, file=sys.stderr)
            failures[run.name] = str(error) or type(error).__name__
    return failures


def embed_runs(context: RunContext) -> None:
    """Embed what the evaluation of the finished runs needs, where the trainings run, too."""
    settings, parameters = context.settings, context.parameters
    state = load_state(settings)
    if state.evaluated:
        skip_stage("deaps-embed", f"evaluation {state.name} is complete")
        return
    from flows.features import embed_features, missing_by_run

    pool = find_pool(settings.execution, EMBED_DEPLOYMENT)
    if pool is None:
        body = partial(embed_features, context)
        run_stage("deaps-embed", body, parameters.as_dict(), run_name="embed")
        return
    jobs = [
        _job("embed", run, settings.store.root, parameters, partial(_all_exist, files))
        for run, files in (
            (run, [file.path for file in files]) for run, files in missing_by_run(settings).items()
        )
    ]
    patience_s = settings.execution.pool_patience_s
    for name, why in run_in_pool(EMBED_DEPLOYMENT, pool, jobs, patience_s=patience_s).items():
        notify(f"{name} failed in the pool ({why}); the evaluation does it here")


def _all_exist(paths: Sequence[Path]) -> bool:
    return all(path.exists() for path in paths)


def _job(
    stage: str, run: str, store: Path, parameters: StageParameters, is_done: Callable[[], bool]
) -> PoolJob:
    address = address_of(store, run)
    given = {"run": address.model_dump(), **parameters.as_dict()}
    return PoolJob(f"{stage} {run}", address.store_id, given, is_done)


def find_pool(execution: ExecutionSettings, deployment: str) -> str | None:
    """Return the pool that a deployment's runs go to, None if they run in this process.

    Raises
    ------
    PoolError
        If ``execution.training`` is ``pool`` and there is none.
    """
    if execution.training == "here" or execution.cluster == "slurm":
        return None
    pool, problem = _usable_pool(deployment)
    if execution.training == "pool":
        if pool is None:
            raise PoolError(f"execution.training is 'pool', but {problem}")
        return pool
    return pool if pool is not None and live_workers(pool) else None


def _usable_pool(deployment: str) -> tuple[str | None, str]:
    """Return a deployment's pool, or why there is none."""
    if not in_flow() or named_server() is None:
        return None, "there is no Prefect server with workers; set PREFECT_API_URL"
    pool = pool_of(deployment)
    if pool is None:
        return None, f"{deployment} is not deployed with a work pool; run deaps deploy"
    if pool == own_pool():
        return None, f"the pipeline runs in the pool {pool!r} itself, whose slot it holds"
    return pool, ""


def train_run(run: Run, settings: Settings) -> None:
    """Train a run to its end unless it is finished, and publish it in the index.

    One that another process finished meanwhile is published, too: that one may have been killed.
    """
    if run.finished:
        return
    log = EventLog(settings.store.root)
    with _alone(run, settings.execution):
        if not run.finished:
            with log.stage("train", **training_facts(run)):
                _train_to_end(run, settings.execution)
    publish_text(curve_page(run.name, read_metrics(run.folder)), key="training-curve")
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
    with training_lock(run.folder, on_wait=notify):
        if execution.cluster != "slurm":
            wait_for_steps(run.folder, on_wait=notify)
        yield


def _train_to_end(run: Run, execution: ExecutionSettings) -> None:
    """Train a run as a job, in processes of its own, or in this one, with a progress bar."""
    in_processes = execution.processes_per_node > 1 or execution.nodes > 1
    with StageProgress(
        f"training {run.name}: steps", run.plan.iterations, key="training"
    ) as progress:
        if execution.cluster == "slurm":
            train_by_slurm(run, execution, follow=partial(_follow, run.folder, progress))
        elif in_processes:
            _train_in_process(run, torchrun_command(run.folder, execution), progress)
        elif execution.trainings_at_once > 1:
            command = [sys.executable, "-m", "deaps.train", str(run.folder)]
            _train_in_process(run, [*command, f"--device={execution.device}"], progress)
        else:
            _train_in_this_process(run, execution.device, progress)


def _train_in_this_process(run: Run, device: str, progress: StageProgress) -> None:
    """Train in this process; a signal stops it with a checkpoint."""
    from deaps.train import TrainingStoppedError
    from deaps.train import train_run as train

    def report(step: int, _: int, row: dict[str, float]) -> None:
        progress.advance(step - progress.done, f"loss {row['loss']:.4f}")

    with stopping_after_a_step() as signals:
        try:
            train(run.folder, device=device, progress=report, notify=notify, stop=signals.asked)
        except TrainingStoppedError as error:
            progress.stop()
            signals.deliver(str(error))
            raise


def _train_in_process(run: Run, command: Sequence[str], progress: StageProgress) -> None:
    """Train by a command with one thread, and follow its steps by its metrics."""
    attempts = 0
    while True:
        attempts += 1
        clear_failure(run.folder)
        with (
            subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process,
            stopped_with_us(process),
        ):
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_FOLLOW_EVERY_S)
                _follow(run.folder, progress)
        code = process.returncode
        if run.finished:
            return
        if reason := read_failure(run.folder):
            raise DeapsError(reason)
        if code == STOPPED or not starts_again(f"run {run.name}", attempts, f"exit code {code}"):
            raise DeapsError(
                f"run {run.name}: its process ended with {code}; the lines above say why. What "
                "was done is kept: run the same command again"
            )


def _follow(folder: Path, progress: StageProgress) -> None:
    """Move the progress to the last step in a training's metrics."""
    step = int(last_row(folder).get("step", 0))
    if step > progress.done:
        progress.advance(step - progress.done)
