"""Where trainings run, with a server that is made up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import placement
from flows.config import ExecutionSettings, load_settings
from flows.experiment.jobs import RunAddress, address_of, settings_at
from flows.monitoring.status import last_events
from flows.placement import TRAIN_DEPLOYMENT, find_pool
from flows.runtime.flow_start import StageParameters
from flows.runtime.gpu_pool import PoolError
from storage.files import OtherStoreError, store_id


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A server with a pool ``gpu`` and a live worker, asked from a run of the pool ``cpu``."""
    state = SimpleNamespace(url="http://lab/api", pool="gpu", own="cpu", workers=["g1"])
    monkeypatch.setattr(placement, "in_flow", lambda: True)
    monkeypatch.setattr(placement, "named_server", lambda: state.url)
    monkeypatch.setattr(placement, "pool_of", lambda deployment: state.pool)
    monkeypatch.setattr(placement, "own_pool", lambda: state.own)
    monkeypatch.setattr(placement, "live_workers", lambda pool: state.workers)
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
    with pytest.raises(OtherStoreError, match=f"does not see the store {address.store_id}"):
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
    from storage.errors import DeapsError

    done: list[str] = []

    def stage(_: object, *, run: RunAddress, **parameters: object) -> None:
        if run.name == "bad":
            raise DeapsError("not enough data")
        done.append(run.name)

    monkeypatch.setattr(placement, "call_stage", stage)
    settings = load_settings(
        overrides=[f"store.root={tmp_path}", f"execution.trainings_at_once={at_once}"]
    )
    runs: Any = [SimpleNamespace(name=name) for name in ("a", "bad", "b")]
    failures = placement.train_runs(settings, StageParameters(), runs)
    assert failures == {"bad": "not enough data"}
    assert sorted(done) == ["a", "b"]


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_server_that_is_gone_is_no_failure_of_a_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_once: int
) -> None:
    import httpx

    def stage(_: object, **parameters: object) -> None:
        raise httpx.ConnectError("refused")

    monkeypatch.setattr(placement, "call_stage", stage)
    settings = load_settings(
        overrides=[f"store.root={tmp_path}", f"execution.trainings_at_once={at_once}"]
    )
    runs: Any = [SimpleNamespace(name=name) for name in ("a", "b")]
    with pytest.raises(httpx.ConnectError):
        placement.train_runs(settings, StageParameters(), runs)
