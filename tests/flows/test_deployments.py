"""prefect.yaml and `deaps serve` offer the same; a real server, PostgreSQL and workers run it."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path

import pytest
import yaml

from flows.config import RefreshSettings
from flows.deployments import deployments, prefect_yaml
from flows.launch import EMBED_DEPLOYMENT, TRAIN_DEPLOYMENT
from tests.edf_files import beats, write_edf
from tests.flows.lab import AUTH, Lab, lab
from tests.flows.prefect_processes import BIN, Api, free_port, running, wait_for
from tests.flows.tiny_project import ROOT, environment


def test_prefect_yaml_is_made_of_the_table() -> None:
    written = (ROOT / "prefect.yaml").read_text()
    assert written == prefect_yaml(), "run: python -m flows.deployments > prefect.yaml"


def test_deployments_queue_runs_that_would_overlap_unless_a_pipeline_submits_them() -> None:
    written = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    unlimited = [
        full_name
        for full_name, deployment in zip(NAMES, written, strict=True)
        if deployment.get("concurrency_limit") != {"limit": 1, "collision_strategy": "ENQUEUE"}
    ]
    assert unlimited == [TRAIN_DEPLOYMENT, EMBED_DEPLOYMENT]


NAMES = [
    "deaps-pipeline/full", "deaps-preprocess/refresh", "deaps-train/deaps", "deaps-train/byol",
    "deaps-train/pclr", "deaps-train/clocs", "deaps-train/mixing-up", "deaps-train/tf-c",
    "deaps-train/run", "deaps-embed/run", "deaps-evaluate/all", "deaps-report/newest",
]  # fmt: skip


def test_deployments_have_the_names_that_people_type() -> None:
    assert [deployment.full_name for deployment in deployments()] == NAMES


def test_every_entrypoint_is_its_flow() -> None:
    for deployment in deployments():
        module, _, function = deployment.entrypoint.rpartition(".")
        assert getattr(importlib.import_module(module), function) is deployment.flow


def test_the_refresh_alone_is_scheduled() -> None:
    written = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    schedules = {d["name"]: d["schedules"] for d in written if "schedules" in d}
    assert schedules == {"refresh": [{"cron": RefreshSettings().cron}]}


@pytest.mark.slow
def test_a_server_with_postgresql_and_a_worker_run_the_pipeline(tmp_path: Path) -> None:
    with lab(tmp_path) as it:
        full = it.start("deaps-pipeline/full")
        wait_for(lambda: it.api.run(full)["state_name"] == "Late")  # no worker: it waits
        with it.worker("cpu"):
            run = it.ended(full)
            assert run["state_type"] == "COMPLETED", (it.folder / "cpu.log").read_text()
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
