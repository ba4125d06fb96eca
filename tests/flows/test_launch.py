"""Where trainings run, with a server that is made up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deaps.training.run_folder import read_failure
from flows import launch
from flows.config import ExecutionSettings, load_settings
from flows.experiment.jobs import RunAddress, address_of, settings_at
from flows.launch import TRAIN_DEPLOYMENT, find_pool
from flows.monitoring.status import last_events
from flows.runtime.gpu_pool import PoolError
from flows.runtime.processes import ATTEMPTS
from flows.runtime.progress import StageProgress
from flows.runtime.run_context import RunContext
from storage.errors import DeapsError
from storage.files import store_id
from tests.deaps.training.training_store import make_run, make_training_store


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A server with a pool ``gpu`` and a live worker, asked from a run of the pool ``cpu``."""
    state = SimpleNamespace(url="http://lab/api", pool="gpu", own="cpu", workers=["g1"])
    monkeypatch.setattr(launch, "in_flow", lambda: True)
    monkeypatch.setattr(launch, "named_server", lambda: state.url)
    monkeypatch.setattr(launch, "pool_of", lambda deployment: state.pool)
    monkeypatch.setattr(launch, "own_pool", lambda: state.own)
    monkeypatch.setattr(launch, "live_workers", lambda pool: state.workers)
    return state


def pool(training: str) -> str | None:
    execution = ExecutionSettings.model_validate({"training": training})
    return find_pool(execution, TRAIN_DEPLOYMENT)


def test_trainings_go_to_a_pool_with_a_live_worker(server: SimpleNamespace) -> None:
    assert pool("auto") == "gpu"


@pytest.mark.parametrize(
    "change", [{"workers": []}, {"pool": None}, {"url": None}, {"own": "gpu"}], ids=str
)
def test_else_they_run_where_the_pipeline_runs(
    server: SimpleNamespace, change: dict[str, Any]
) -> None:
    vars(server).update(change)
    assert pool("auto") is None


def test_here_means_here(server: SimpleNamespace) -> None:
    assert pool("here") is None


def test_a_pool_that_is_asked_for_is_waited_for(server: SimpleNamespace) -> None:
    server.workers = []
    assert pool("pool") == "gpu"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pool": None}, "deaps-train/run is not deployed with a work pool; run deaps deploy"),
        ({"url": None}, "there is no Prefect server with workers; set PREFECT_API_URL"),
        ({"own": "gpu"}, "the pipeline runs in the pool 'gpu' itself"),
    ],
)
def test_a_pool_that_is_asked_for_and_not_there_is_an_error(
    server: SimpleNamespace, change: dict[str, Any], reason: str
) -> None:
    vars(server).update(change)
    with pytest.raises(PoolError, match=reason):
        pool("pool")


def test_a_worker_uses_the_store_that_is_meant(tmp_path: Path) -> None:
    address = address_of(tmp_path / "mounted", "byol-1").model_copy(update={"store": "/elsewhere"})
    settings = load_settings(overrides=[f"store.root={tmp_path}/mounted"])
    assert settings_at(settings, address).store.root == (tmp_path / "mounted").resolve()
    assert last_events(tmp_path / "mounted", lambda event: True) == []


def test_a_worker_that_sees_another_store_refuses(tmp_path: Path) -> None:
    address = address_of(tmp_path / "meant", "byol-1")
    (tmp_path / "meant/store-id").unlink()
    store_id(tmp_path / "other")
    settings = load_settings(overrides=[f"store.root={tmp_path}/other"])
    with pytest.raises(DeapsError, match=f"does not see the store {address.store_id}"):
        settings_at(settings, address)


def test_other_code_is_warned_of_and_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = address_of(tmp_path / "store", "byol-1").model_copy(update={"code": "9.9+abc"})
    settings_at(load_settings(overrides=[f"store.root={tmp_path}/store"]), address)
    assert "byol-1 was planned by deaps 9.9+abc" in capsys.readouterr().err
    (event,) = last_events(tmp_path / "store", lambda event: event["level"] == "warning")
    assert event["training"] == "byol-1"
    assert "9.9+abc" in event["reason"]


def test_an_address_survives_json(tmp_path: Path) -> None:
    address = address_of(tmp_path, "byol-1")
    assert RunAddress.model_validate(address.model_dump(mode="json")) == address


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_training_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_once: int
) -> None:
    done: list[str] = []

    def train(run: Any, _: object) -> None:
        if run.name == "bad":
            raise DeapsError("not enough data")
        done.append(run.name)

    monkeypatch.setattr(launch, "train_run", train)
    settings = load_settings(
        overrides=[f"store.root={tmp_path}", f"execution.trainings_at_once={at_once}"]
    )
    runs: Any = [SimpleNamespace(name=name) for name in ("a", "bad", "b")]
    failures = launch.train_runs(RunContext(settings), runs)
    assert failures == {"bad": "not enough data"}
    assert sorted(done) == ["a", "b"]


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_server_that_is_gone_is_no_failure_of_a_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_once: int
) -> None:
    import httpx

    def train(*_: object) -> None:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(launch, "train_run", train)
    settings = load_settings(
        overrides=[f"store.root={tmp_path}", f"execution.trainings_at_once={at_once}"]
    )
    runs: Any = [SimpleNamespace(name=name) for name in ("a", "b")]
    with pytest.raises(httpx.ConnectError):
        launch.train_runs(RunContext(settings), runs)


def training_process(folder: Path, code: str) -> tuple[Any, list[str]]:
    """Return a run and a command that appends a line to ``starts`` and goes on with ``code``."""
    begin = (
        "import os, pathlib, sys\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "with (folder / 'starts').open('a') as file: file.write('x\\n')\n"
        "starts = len((folder / 'starts').read_text().split())\n"
    )

    class ARun:
        name = "byol-1"

        @property
        def finished(self) -> bool:
            return (self.folder / "run.json").exists()

        def __init__(self) -> None:
            self.folder = folder

    return ARun(), [sys.executable, "-c", begin + code]


def starts(folder: Path) -> int:
    return len((folder / "starts").read_text().split())


@pytest.fixture
def progress() -> StageProgress:
    return StageProgress("training", 1, key="training")


def test_a_training_whose_process_is_killed_goes_on_in_another(
    tmp_path: Path, progress: StageProgress, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "os.kill(os.getpid(), 9) if starts < 3 else (folder / 'run.json').touch()"
    run, command = training_process(tmp_path, code)
    launch._train_in_process(run, command, progress)
    assert starts(tmp_path) == 3
    assert capsys.readouterr().err.count("starting it again from its last checkpoint") == 2


def test_a_training_that_says_why_it_failed_is_not_started_again(
    tmp_path: Path, progress: StageProgress
) -> None:
    code = "(folder / 'failure.txt').write_text('the loss is nan at step 7'); sys.exit(1)"
    run, command = training_process(tmp_path, code)
    with pytest.raises(DeapsError, match="the loss is nan at step 7"):
        launch._train_in_process(run, command, progress)
    assert starts(tmp_path) == 1


def test_a_training_that_somebody_stopped_is_not_started_again(
    tmp_path: Path, progress: StageProgress
) -> None:
    run, command = training_process(tmp_path, "sys.exit(130)")
    with pytest.raises(DeapsError, match="What was done is kept: run the same command again"):
        launch._train_in_process(run, command, progress)
    assert starts(tmp_path) == 1


def test_a_training_whose_process_always_dies_is_given_up(
    tmp_path: Path, progress: StageProgress
) -> None:
    run, command = training_process(tmp_path, "os.kill(os.getpid(), 9)")
    with pytest.raises(DeapsError, match="its process ended with -9"):
        launch._train_in_process(run, command, progress)
    assert starts(tmp_path) == ATTEMPTS


def test_a_failing_training_process_notes_its_reason(tmp_path: Path) -> None:
    """What `python -m deaps.train` leaves when the weights blow up."""
    store = make_training_store(tmp_path / "store", subjects=2)
    run = make_run(store, iterations=20, batch=2, learning_rate=1e30)
    command = [sys.executable, "-m", "deaps.train", str(run.folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    reason = read_failure(run.folder)
    assert reason
    assert "the last checkpoint is kept" in reason
    assert reason in done.stderr
