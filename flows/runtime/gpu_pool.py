"""Jobs for the GPU machines of a Prefect work pool: submitted all at once, and waited for.

A job whose worker was killed is started again. The server says how a job is doing; whether it is
done, the caller asks the store. On SLURM the cluster does the same: `flows.runtime.slurm`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from flows.runtime.console import notify
from flows.runtime.processes import starts_again
from storage.errors import DeapsError

if TYPE_CHECKING:
    from prefect.automations import Automation
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun, State


POLL_S = 2.0
_PENDING_S = 300.0
"""A run that a worker has taken and not started for so long was killed with it."""


class PoolError(DeapsError):
    """A work pool cannot be used; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class PoolJob:
    """One run of a deployment; ``name`` is unique in a store, and ``is_done`` asks the store."""

    name: str
    store_id: str
    parameters: dict[str, Any]
    is_done: Callable[[], bool]


@dataclass(slots=True)
class _Submitted:
    """A job and the flow run that does it now."""

    job: PoolJob
    run: UUID
    attempts: int = 1
    pending_since: float | None = None


@dataclass(slots=True)
class PoolWait:
    """The jobs that are under way, and what came of the others."""

    deployment: str
    pool: str
    patience_s: float
    under_way: list[_Submitted] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    alive_at: float = field(default_factory=time.monotonic)
    is_waiting: bool = False


def pool_of(deployment: str) -> str | None:
    """Return the work pool of a deployment, None if it has none or is not deployed."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            return client.read_deployment_by_name(deployment).work_pool_name
        except ObjectNotFound:
            return None


def live_workers(pool: str) -> list[str]:
    """Return the names of the workers of a pool that have been heard of lately."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return _live(client, pool)


def _live(client: SyncPrefectClient, pool: str) -> list[str]:
    from prefect.client.schemas.objects import WorkerStatus
    from prefect.exceptions import ObjectNotFound

    try:
        workers = client.read_workers_for_work_pool(pool)
    except ObjectNotFound:
        return []
    return [worker.name for worker in workers if worker.status == WorkerStatus.ONLINE]


def own_pool() -> str | None:
    """Return the pool of the flow run that this is part of, None outside of one."""
    from prefect.context import FlowRunContext

    context = FlowRunContext.get()
    return context.flow_run.work_pool_name if context and context.flow_run else None


def run_in_pool(
    deployment: str, pool: str, jobs: Sequence[PoolJob], *, patience_s: float
) -> dict[str, str]:
    """Run jobs by the workers of a pool; return why jobs failed, by name.

    All are submitted at once: as many run as workers have room. A job whose process crashed is
    started again. One that is under way already, started by a pipeline that was killed, is
    waited for.

    Raises
    ------
    PoolError
        If for ``patience_s`` no live worker serves the pool.
    """
    from httpx import HTTPError
    from prefect.client.orchestration import get_client

    ensure_automation()  # or a killed worker's run would be Running for ever
    wait = PoolWait(deployment, pool, patience_s)
    with get_client(sync_client=True) as client:
        wait.under_way = [_Submitted(job, _adopt(client, wait, job)) for job in jobs]
        while wait.under_way:
            time.sleep(POLL_S)
            try:
                _look(client, wait)
            except HTTPError as error:  # the server may come back; the jobs go on meanwhile
                _wait_for(wait, f"an answer of Prefect's server ({type(error).__name__})")
    return wait.failures


def _adopt(client: SyncPrefectClient, wait: PoolWait, job: PoolJob) -> UUID:
    """Return the run that does a job already, or submit one."""
    from prefect.client.schemas.filters import FlowRunFilter

    active = {
        "tags": {"all_": [_tag(job)]},
        "state": {"type": {"any_": ["SCHEDULED", "PENDING", "RUNNING"]}},
    }
    runs = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(active), limit=1)
    return runs[0].id if runs else _submit(wait, job)


def _submit(wait: PoolWait, job: PoolJob) -> UUID:
    from prefect.deployments import run_deployment

    run = run_deployment(
        wait.deployment,
        parameters=job.parameters,
        flow_run_name=job.name,
        tags=[_tag(job)],
        timeout=0,
    )
    return run.id  # type: ignore[union-attr]  # outside of an event loop it is a run


def _tag(job: PoolJob) -> str:
    """Return what a job is known by on the server: runs of two stores may have the same name."""
    return f"deaps job: {job.name}, store {job.store_id}"


def _look(client: SyncPrefectClient, wait: PoolWait) -> None:
    """Ask how every job is doing, once."""
    from prefect.client.schemas.filters import FlowRunFilter

    ids = {"id": {"any_": [each.run for each in wait.under_way]}}
    found = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(ids))
    runs = {run.id: run for run in found}
    for each in list(wait.under_way):
        _follow(client, wait, each, runs.get(each.run))
    is_running = any(run.state and run.state.is_running() for run in runs.values())
    if not wait.under_way or is_running or _live(client, wait.pool):
        wait.alive_at, wait.is_waiting = time.monotonic(), False
        return
    try:
        _wait_for(wait, f"a worker of the pool {wait.pool!r}")
    except PoolError:
        _cancel(client, wait)
        raise


def _follow(
    client: SyncPrefectClient, wait: PoolWait, each: _Submitted, run: FlowRun | None
) -> None:
    """Take note of a job's state: done, failed, to be started again, or under way."""
    state = run.state if run else None
    if state is None or state.is_crashed():
        _start_again(wait, each, (state and state.message) or "its run is gone")
    elif state.is_final():
        wait.under_way.remove(each)
        if not each.job.is_done():
            wait.failures[each.job.name] = _why_not_done(state)
    elif state.is_pending():
        each.pending_since = each.pending_since or time.monotonic()
        if time.monotonic() - each.pending_since > _PENDING_S:
            _crash(client, each)
    else:
        each.pending_since = None


def _why_not_done(state: State) -> str:
    if state.is_completed():
        return "its worker says it is done, but it is not in the store here: is that the same one?"
    return state.message or f"ended as {state.name}"


def _start_again(wait: PoolWait, each: _Submitted, why: str) -> None:
    """Submit a job again whose process is gone, unless it was done, or was tried too often."""
    if each.job.is_done():
        wait.under_way.remove(each)
    elif starts_again(each.job.name, each.attempts, why):
        each.run, each.pending_since = _submit(wait, each.job), None
        each.attempts += 1
    else:
        wait.under_way.remove(each)
        wait.failures[each.job.name] = f"crashed {each.attempts} times: {why}"


def _crash(client: SyncPrefectClient, each: _Submitted) -> None:
    from prefect.states import Crashed

    message = f"a worker took it {_PENDING_S:.0f} s ago and did not start it"
    client.set_flow_run_state(each.run, Crashed(message=message), force=True)


def _wait_for(wait: PoolWait, what: str) -> None:
    """Say once what we wait for; raise PoolError if it takes too long."""
    names = ", ".join(each.job.name for each in wait.under_way)
    if not wait.is_waiting:
        wait.is_waiting = True
        notify(f"waiting for {what}, at most {wait.patience_s:.0f} s: {names}")
    if time.monotonic() - wait.alive_at > wait.patience_s:
        raise PoolError(
            f"waited {wait.patience_s:.0f} s (execution.pool_patience_s) for {what}; not done: "
            f"{names}. Start `prefect worker start --pool {wait.pool} --limit 1` and run it again: "
            "it goes on from there"
        )


def _cancel(client: SyncPrefectClient, wait: PoolWait) -> None:
    """Take back what no worker has taken: the next run submits it again."""
    from prefect.states import Cancelled

    message = "no worker took it in time; the pipeline has ended"
    for each in wait.under_way:
        client.set_flow_run_state(each.run, Cancelled(message=message), force=True)


AUTOMATION = "deaps: silent runs have crashed"
_HEARTBEAT = "prefect.flow-run.heartbeat"
_ENDS = ("Completed", "Skipped", "Failed", "Cancelled", "Crashed")
_WITHIN_S = 90
"""Three heartbeats; with the one before and the server's own pace, two and a half minutes."""


def ensure_automation() -> None:
    """Make the automation unless it is there."""
    try:
        _present()
    except ValueError:
        _automation().create()


def _present() -> Automation:
    from prefect.automations import Automation

    found: Automation = Automation.read(name=AUTOMATION)  # type: ignore[assignment]
    return found


def _automation() -> Automation:
    from prefect.automations import Automation
    from prefect.client.schemas.objects import StateType
    from prefect.events.actions import ChangeFlowRunState
    from prefect.events.schemas.automations import EventTrigger, Posture
    from prefect.events.schemas.events import ResourceSpecification

    return Automation(
        name=AUTOMATION,
        description="A flow run that sends no heartbeat for 90 s is marked Crashed.",
        trigger=EventTrigger(
            after={_HEARTBEAT},
            expect={_HEARTBEAT, *(f"prefect.flow-run.{end}" for end in _ENDS)},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=timedelta(seconds=_WITHIN_S),
        ),
        actions=[
            ChangeFlowRunState(
                name=None,
                state=StateType.CRASHED,
                force=False,
                message="no heartbeat for 90 s: its process is gone",
            )
        ],
    )
