"""Where trainings and embeddings run: in the pool of GPU machines, or in this process.

Only these two are submitted to a pool, by the name of a run, to deployments without a limit:
the run's own lock keeps it single. Every other stage runs in the pipeline's process. So a
pipeline never waits for a slot that it holds itself.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from pathlib import Path

from deaps.training.run_folder import Run
from flows.config import ExecutionSettings, Settings
from flows.experiment.jobs import address_of
from flows.experiment.state import load_state
from flows.runtime.console import say
from flows.runtime.dask_pool import warn_of_locks
from flows.runtime.flow_start import StageParameters, hand_over
from flows.runtime.gpu_pool import PoolError, PoolJob, live_workers, own_pool, pool_of, run_in_pool
from flows.runtime.orchestration import call_stage, in_flow, is_server_gone, named, skip_stage
from flows.runtime.server_address import named_server
from storage.errors import DeapsError

TRAIN_DEPLOYMENT = "deaps-train/run"
EMBED_DEPLOYMENT = "deaps-embed/run"


def train_runs(
    settings: Settings, parameters: StageParameters, runs: Sequence[Run]
) -> dict[str, str]:
    """Train runs where they belong; return why some failed, by name. One does not stop others."""
    pool = find_pool(settings.execution, TRAIN_DEPLOYMENT)
    if pool is None:
        return _train_here(settings, parameters, runs)
    store = settings.store.root
    warn_of_locks(store)
    jobs = [
        _job("train", run.name, store, parameters, partial(getattr, run, "finished"))
        for run in runs
    ]
    patience_s = settings.execution.pool_patience_s
    failures = run_in_pool(TRAIN_DEPLOYMENT, pool, jobs, patience_s=patience_s)
    return {name.removeprefix("train "): why for name, why in failures.items()}


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
        return (
            None,
            f"the pipeline runs in the pool {pool!r} itself, whose slot it holds",
        )
    return pool, ""


def _train_here(
    settings: Settings, parameters: StageParameters, runs: Sequence[Run]
) -> dict[str, str]:
    """Train runs in this process, or as jobs that it submits, some at once."""
    from flows.train import train, trainings_at_once

    failures: dict[str, str] = {}

    def train_one(run: Run) -> None:
        address = address_of(settings.store.root, run.name)
        stage = named(train, f"train {run.name}")
        with hand_over(settings, is_stage=True):
            call_stage(stage, run=address, **parameters.as_dict())

    def attempt(run: Run) -> None:
        try:
            train_one(run)
        except Exception as error:  # the others go on; the pipeline says at its end what failed
            if is_server_gone(error):  # no fault of the training: all of it is done without
                raise
            failures[run.name] = _reason(error)

    _each(attempt, runs, at_once=trainings_at_once(settings.execution, len(runs)))
    return failures


def _each(work: Callable[[Run], None], runs: Sequence[Run], *, at_once: int) -> None:
    """Call ``work`` with each run; several threads know the flow run that they are part of."""
    if at_once == 1:
        for run in runs:
            work(run)
        return
    with ThreadPoolExecutor(at_once) as threads:
        begun = [threads.submit(copy_context().run, work, run) for run in runs]
    for each in begun:
        each.result()


def _reason(error: Exception) -> str:
    if not isinstance(error, DeapsError):  # a fault of ours keeps its traceback
        traceback.print_exception(error, file=sys.stderr)
    return str(error) or type(error).__name__


def embed_runs(settings: Settings, parameters: StageParameters) -> None:
    """Embed what the evaluation of the finished runs needs, where the trainings run, too."""
    state = load_state(settings)
    if state.evaluated:
        skip_stage("deaps-embed", f"evaluation {state.name} is complete")
        return
    from flows.features import embed, missing_by_run

    pool = find_pool(settings.execution, EMBED_DEPLOYMENT)
    if pool is None:
        with hand_over(settings, is_stage=True):
            call_stage(named(embed, "embed"), **parameters.as_dict())
        return
    store = settings.store.root
    jobs = [
        _job("embed", run, store, parameters, partial(_all_exist, [file.path for file in files]))
        for run, files in missing_by_run(settings).items()
    ]
    failures = run_in_pool(
        EMBED_DEPLOYMENT, pool, jobs, patience_s=settings.execution.pool_patience_s
    )
    for name, why in failures.items():
        say(f"{name} failed in the pool ({why}); the evaluation does it here")


def _all_exist(paths: Sequence[Path]) -> bool:
    return all(path.exists() for path in paths)
