"""Jobs in a pool, with a server that is made up: what follows each state."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from flows.runtime import gpu_pool
from flows.runtime.gpu_pool import PoolError, PoolJob, PoolWait, _look, _Submitted

STORE = "5" * 32


class FakeServer:
    """Runs by id with the states that a test gives them; notes what is submitted and set."""

    def __init__(self) -> None:
        self.runs: dict[uuid.UUID, Any] = {}
        self.workers: list[str] = ["g1"]
        self.submitted: list[str] = []
        self.set: list[str] = []

    def start(self, state: Any, tag: str = "") -> uuid.UUID:
        run = uuid.uuid4()
        self.runs[run] = SimpleNamespace(id=run, state=state, tag=tag)
        return run

    def read_flow_runs(self, flow_run_filter: Any, limit: int | None = None) -> list[Any]:
        if flow_run_filter.id is None:  # asked for what is under way, by its tag
            types, (tag,) = flow_run_filter.state.type.any_, flow_run_filter.tags.all_
            runs = self.runs.values()
            return [run for run in runs if run.state.type in types and run.tag == tag][:limit]
        return [run for id_, run in self.runs.items() if id_ in flow_run_filter.id.any_]

    def read_workers_for_work_pool(self, pool: str) -> list[Any]:
        from prefect.client.schemas.objects import WorkerStatus

        return [SimpleNamespace(name=n, status=WorkerStatus.ONLINE) for n in self.workers]

    def set_flow_run_state(self, run: uuid.UUID, state: Any, force: bool) -> None:
        self.set.append(state.type.value)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    fake = FakeServer()

    def submit(wait: PoolWait, job: PoolJob) -> uuid.UUID:
        from prefect.states import Scheduled

        fake.submitted.append(job.name)
        return fake.start(Scheduled(), gpu_pool._tag(job))

    monkeypatch.setattr(gpu_pool, "_submit", submit)
    return fake


def waiting(
    server: FakeServer, state: Any, is_done: Callable[[], bool] = lambda: False
) -> PoolWait:
    wait = PoolWait("deaps-train/run", "gpu", patience_s=60)
    wait.under_way = [_Submitted(PoolJob("train x", STORE, {}, is_done), server.start(state))]
    return wait


def test_a_crashed_job_is_started_again(
    server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    from prefect.states import Crashed

    wait = waiting(server, Crashed(message="no heartbeat"))
    _look(server, wait)  # type: ignore[arg-type]
    assert server.submitted == ["train x"]
    assert wait.under_way
    assert "train x died (no heartbeat); starting it again" in capsys.readouterr().err


def test_a_crashed_job_that_is_done_is_done(server: FakeServer) -> None:
    from prefect.states import Crashed

    wait = waiting(server, Crashed(), is_done=lambda: True)
    _look(server, wait)  # type: ignore[arg-type]
    assert (wait.under_way, wait.failures, server.submitted) == ([], {}, [])


def test_a_job_that_always_crashes_fails(server: FakeServer) -> None:
    from prefect.states import Crashed

    wait = waiting(server, Crashed(message="out of memory"))
    for _ in range(10):
        if wait.under_way:
            server.runs[wait.under_way[0].run].state = Crashed(message="out of memory")
            _look(server, wait)  # type: ignore[arg-type]
    assert wait.failures == {"train x": "crashed 5 times: out of memory"}
    assert len(server.submitted) == 4


def test_a_failed_job_is_not_started_again(server: FakeServer) -> None:
    from prefect.states import Failed

    wait = waiting(server, Failed(message="this machine does not see the store"))
    _look(server, wait)  # type: ignore[arg-type]
    assert wait.failures == {"train x": "this machine does not see the store"}
    assert server.submitted == []


def test_only_the_store_says_that_a_job_is_done(server: FakeServer) -> None:
    from prefect.states import Completed

    wait = waiting(server, Completed())
    _look(server, wait)  # type: ignore[arg-type]
    assert "not in the store here" in wait.failures["train x"]


def test_without_a_worker_we_wait_and_say_for_what_and_not_for_ever(
    server: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    from prefect.states import Scheduled

    wait = waiting(server, Scheduled())
    server.workers = []
    _look(server, wait)  # type: ignore[arg-type]
    _look(server, wait)  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert said == "waiting for a worker of the pool 'gpu', at most 60 s: train x\n"
    wait.alive_at -= 61
    with pytest.raises(PoolError, match=r"waited 60 s \(execution.pool_patience_s\) for a worker"):
        _look(server, wait)  # type: ignore[arg-type]
    assert server.set == ["CANCELLED"]


def test_a_worker_that_comes_back_resets_the_patience(server: FakeServer) -> None:
    from prefect.states import Scheduled

    wait = waiting(server, Scheduled())
    wait.alive_at -= 1000
    _look(server, wait)  # type: ignore[arg-type]
    server.workers = []
    _look(server, wait)  # type: ignore[arg-type]
    assert server.set == []


def test_a_job_that_was_taken_and_never_started_is_marked_crashed(server: FakeServer) -> None:
    from prefect.states import Pending

    wait = waiting(server, Pending())
    _look(server, wait)  # type: ignore[arg-type]
    assert server.set == []
    assert wait.under_way[0].pending_since is not None
    wait.under_way[0].pending_since -= 301
    _look(server, wait)  # type: ignore[arg-type]
    assert server.set == ["CRASHED"]


def run_jobs(
    monkeypatch: pytest.MonkeyPatch, server: FakeServer, look: Callable[..., None], names: list[str]
) -> None:
    """Run jobs by the made-up server, with another way to look at it."""
    monkeypatch.setattr("prefect.client.orchestration.get_client", lambda **_: nullcontext(server))
    monkeypatch.setattr(gpu_pool, "ensure_automation", lambda: None)
    monkeypatch.setattr(gpu_pool, "_look", look)
    monkeypatch.setattr(gpu_pool, "POLL_S", 0.0)
    jobs = [PoolJob(name, STORE, {}, lambda: True) for name in names]
    assert gpu_pool.run_in_pool("deaps-train/run", "gpu", jobs, patience_s=60) == {}


def test_a_server_that_does_not_answer_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, server: FakeServer
) -> None:
    looks: list[int] = []

    def look(client: Any, wait: PoolWait) -> None:
        looks.append(1)
        if len(looks) == 1:
            raise httpx.ConnectError("refused")
        wait.under_way.clear()

    run_jobs(monkeypatch, server, look, ["train x"])
    assert len(looks) == 2


def test_all_jobs_are_submitted_before_any_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, server: FakeServer
) -> None:
    at_first_look: list[str] = []

    def look(client: Any, wait: PoolWait) -> None:
        at_first_look.extend(server.submitted)
        wait.under_way.clear()

    run_jobs(monkeypatch, server, look, ["train x", "train y", "train z"])
    assert at_first_look == ["train x", "train y", "train z"]


def test_a_job_that_an_earlier_pipeline_submitted_is_waited_for(server: FakeServer) -> None:
    """Two pipelines at once, or one after a kill, submit a training once."""
    from prefect.states import Running

    wait = PoolWait("deaps-train/run", "gpu", patience_s=60)
    job = PoolJob("train x", STORE, {}, lambda: False)
    first = gpu_pool._adopt(server, wait, job)  # type: ignore[arg-type]
    assert server.submitted == ["train x"]
    server.runs[first].state = Running()
    assert gpu_pool._adopt(server, wait, job) == first  # type: ignore[arg-type]
    assert server.submitted == ["train x"]


def test_a_run_of_the_same_name_in_another_store_is_another_job(server: FakeServer) -> None:
    wait = PoolWait("deaps-train/run", "gpu", patience_s=60)
    for store in (STORE, "6" * 32):
        gpu_pool._adopt(server, wait, PoolJob("train x", store, {}, lambda: False))  # type: ignore[arg-type]
    assert server.submitted == ["train x", "train x"]
