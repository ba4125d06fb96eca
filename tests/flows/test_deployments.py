"""prefect.yaml and `deaps serve` offer the same; a real server, PostgreSQL and workers run it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.config import RefreshSettings
from flows.deployments import deployments
from tests.edf_files import beats, write_edf
from tests.flows.prefect_processes import (
    BIN,
    Api,
    created_run,
    free_port,
    prefect,
    running,
    wait_for,
)
from tests.flows.tiny_project import ROOT, environment, make_project

POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
AUTH = "admin:a-password-of-this-test"


def test_prefect_yaml_says_what_the_code_says() -> None:
    written = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    coded = list(deployments())
    assert [(d["name"], d["entrypoint"], d["work_pool"]["name"]) for d in written] == [
        (d.name, d.entrypoint, d.pool) for d in coded
    ]
    assert [d["parameters"] for d in written] == [d.parameters for d in coded]
    assert [d["description"] for d in written] == [d.description for d in coded]
    schedules = [d["schedules"] for d in written if "schedules" in d]
    assert schedules == [[{"cron": RefreshSettings().cron}]]


def test_every_deployment_queues_runs_that_would_overlap() -> None:
    written = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    assert {(d["concurrency_limit"]["limit"], d["concurrency_limit"]["collision_strategy"])
            for d in written} == {(1, "ENQUEUE")}  # fmt: skip


def test_flows_have_the_names_of_their_deployments() -> None:
    import importlib

    for deployment in deployments():
        module, _, function = deployment.entrypoint.rpartition(".")
        flow = getattr(importlib.import_module(module), function)
        assert flow.name == deployment.flow


@contextmanager
def database(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the settings of a fresh PostgreSQL, of SQLite where there is none."""
    if not POSTGRES:
        print("no PostgreSQL here: SQLite instead")
        yield {}
        return
    data, port, bin_ = folder / "pg", free_port(), POSTGRES[-1].parent
    data.mkdir()
    user = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(data, "postgres", "postgres")
        for parent in [folder, *folder.parents][:4]:
            parent.chmod(parent.stat().st_mode | 0o011)
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    subprocess.run(
        [*user, bin_ / "initdb", "-D", data, "-U", "deaps", "-A", "trust"],
        check=True, capture_output=True,
    )  # fmt: skip
    command = [*user, str(bin_ / "postgres"), "-D", str(data), "-p", str(port), "-k", str(data),
               "-c", "listen_addresses=127.0.0.1"]  # fmt: skip
    with running(command, folder, environment(), "postgres"):
        ready = [bin_ / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
        wait_for(lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0)
        url = f"postgresql+asyncpg://deaps@127.0.0.1:{port}/postgres"
        yield {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url}


@dataclass(frozen=True)
class Lab:
    """A server with its pools and deployments, and the folder from which it is used."""

    folder: Path
    api: Api
    client: dict[str, str]

    def start(self, deployment: str, *parameters: str) -> str:
        """Ask for a run and return its name."""
        given = [word for parameter in parameters for word in ("--param", parameter)]
        return created_run(
            prefect(self.folder, self.client, "deployment", "run", deployment, *given)
        )

    def ended(self, name: str) -> dict[str, Any]:
        run: dict[str, Any] = wait_for(lambda: self.api.ended_run(name))
        return run


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """Yield a laboratory's server with a password, on PostgreSQL where there is one."""
    project, port = make_project(folder / "project"), free_port()
    api = Api(port, AUTH)
    client = environment(PREFECT_API_URL=api.url, PREFECT_API_AUTH_STRING=AUTH)
    with database(folder) as settings:
        server = environment(**settings, PREFECT_SERVER_API_AUTH_STRING=AUTH)
        command = [str(BIN / "prefect"), "server", "start", "--host=127.0.0.1", f"--port={port}"]
        with running(command, project, server, "server"):
            wait_for(api.healthy)
            for pool in ("cpu", "gpu"):
                prefect(project, client, "work-pool", "create", pool, "--type", "process")
            prefect(project, client, "--no-prompt", "deploy", "--all")
            yield Lab(project, api, client)


@pytest.mark.slow
def test_a_server_with_postgresql_and_a_worker_run_the_pipeline(tmp_path: Path) -> None:
    with lab(tmp_path) as it:
        full = it.start("deaps-pipeline/full")
        wait_for(lambda: it.api.run(full)["state_name"] == "Late")  # no worker: it waits
        worker = [str(BIN / "prefect"), "worker", "start", "--pool", "cpu"]
        with running(worker, it.folder, it.client, "worker"):
            run = it.ended(full)
            assert run["state_type"] == "COMPLETED", (it.folder / "worker.log").read_text()
            check_what_the_pipeline_left(it)
            check_that_refreshes_queue(it)
            check_that_an_unknown_preset_fails_with_the_known_ones(it)


def check_what_the_pipeline_left(it: Lab) -> None:
    artifacts = {a["key"]: a for a in it.api.find("artifacts")}
    report = next((it.folder / "store" / "reports").glob("*/index.html"))
    assert str(report.parent.name) in artifacts["report"]["data"]
    assert {"preprocessing-summary", "training-curve", "benchmark-accuracies"} <= set(artifacts)
    names = [d["name"] for d in it.api.find("deployments")]
    assert set(names) == {deployment.name for deployment in deployments()}
    # The refresh's schedule has made runs.
    assert it.api.find("flow_runs", flow_runs={"state": {"type": {"any_": ["SCHEDULED"]}}})


def check_that_refreshes_queue(it: Lab) -> None:
    """Two refreshes at once run one after the other, and leave the snapshot as it was."""
    published = (it.folder / "store" / "index.duckdb").stat().st_mtime_ns
    names = [it.start("deaps-preprocess/refresh") for _ in range(2)]
    first, second = sorted((it.ended(name) for name in names), key=lambda run: run["start_time"])
    assert [run["state_type"] for run in (first, second)] == ["COMPLETED"] * 2
    assert first["end_time"] <= second["start_time"]
    assert (it.folder / "store" / "index.duckdb").stat().st_mtime_ns == published


def check_that_an_unknown_preset_fails_with_the_known_ones(it: Lab) -> None:
    run = it.ended(it.start("deaps-pipeline/full", "preset=nonsense"))
    assert run["state_type"] == "FAILED"
    assert "nonsense" in run["state"]["message"]
    assert "demo, open, paper" in run["state"]["message"]


@pytest.mark.slow
def test_a_wrong_password_is_told_as_such(tmp_path: Path) -> None:
    folder, port = tmp_path, free_port()
    api = Api(port, AUTH)
    server = environment(PREFECT_SERVER_API_AUTH_STRING=AUTH, PREFECT_HOME=str(tmp_path / "home"))
    command = [str(BIN / "prefect"), "server", "start", "--host=127.0.0.1", f"--port={port}"]
    with running(command, folder, server, "server"):
        wait_for(api.healthy)
        wrong = environment(PREFECT_API_URL=api.url, PREFECT_API_AUTH_STRING="admin:wrong")
        write_edf(tmp_path / "data" / "a.edf", {"ECG": beats(35)})
        done, ours = (
            subprocess.run(
                [str(BIN / command[0]), *command[1:]],
                cwd=folder, env=wrong, capture_output=True, text=True, check=False,
            )
            for command in (
                ["prefect", "deployment", "ls"], ["deaps", "preprocess", "--set=data.folder=data"],
            )
        )  # fmt: skip
    assert done.returncode != 0
    assert "401" in done.stdout + done.stderr or "nauthorized" in done.stdout + done.stderr
    assert ours.returncode == 2
    assert "answers 401; set PREFECT_API_AUTH_STRING" in ours.stderr


def test_serve_hands_preset_and_configuration_to_every_flow(tmp_path: Path) -> None:
    from flows.cli.pipeline import flow_parameters
    from flows.serve import _to_prefect

    given = flow_parameters("open", tmp_path / "mine.toml")
    assert given == {"preset": "open", "config": str(tmp_path / "mine.toml")}
    for deployment in deployments():
        offered = _to_prefect(deployment, RefreshSettings(), given)
        assert offered.parameters == {**given, **deployment.parameters}
