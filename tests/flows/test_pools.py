"""One pipeline over two pools: trainings on the pool ``gpu``, all else on ``cpu``."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from safetensors.torch import load_file

from flows.monitoring.status import last_events
from tests.edf_files import beats, write_edf
from tests.flows.lab import Lab, lab
from tests.flows.prefect_processes import BIN, prefect, running, wait_for
from tests.flows.tiny_project import CONFIG

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2400)]
PATIENCE_S = 900
LONG = CONFIG.replace("iterations = 2", "iterations = 150").replace(
    "checkpoint_every = 2\nevolution_every = 2\nmetrics_every = 1",
    "checkpoint_every = 10\nevolution_every = 150\nmetrics_every = 5",
)


@pytest.fixture(scope="module")
def it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(autouse=True)
def _fresh_store(it: Lab) -> None:
    shutil.rmtree(it.folder / "store", ignore_errors=True)
    (it.folder / "deaps.toml").write_text(CONFIG)


def configure(it: Lab, text: str) -> None:
    (it.folder / "deaps.toml").write_text(text)


def runs_since(it: Lab, started: float) -> dict[str, dict[str, Any]]:
    """Return the flow runs that started since, by name."""
    found = it.api.find("flow_runs", sort="START_TIME_ASC")
    begun = [run for run in found if run["start_time"]]
    return {run["name"]: run for run in begun if _seconds(run["start_time"]) >= started - 1}


def _seconds(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


def report_text(it: Lab) -> str:
    """Return the newest report's page."""
    pages = (it.folder / "store/reports").glob("*/index.html")
    return max(pages, key=lambda page: page.stat().st_mtime_ns).read_text()


def deaps(it: Lab, *arguments: str) -> None:
    """Run a command by hand, without the server."""
    env = {k: v for k, v in it.client.items() if k != "PREFECT_API_URL"}
    done = subprocess.run(
        [str(BIN / "deaps"), *arguments],
        cwd=it.folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_stages_are_runs_and_training_is_done_by_the_gpu_worker(it: Lab) -> None:
    started = time.time()
    with it.worker("cpu"), it.worker("gpu"):
        wait_for(lambda: it.online("gpu"))
        assert it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)["state_type"] == "COMPLETED"
        first = runs_since(it, started)
        (training,) = [run for name, run in first.items() if name.startswith("train byol-")]
        (embedding,) = [run for name, run in first.items() if name.startswith("embed byol-")]
        assert (training["work_pool_name"], embedding["work_pool_name"]) == ("gpu", "gpu")
        assert {"preprocess", "evaluate", "report"} <= set(first)
        assert training["parent_task_run_id"]  # so that the pipeline's page shows it
        started = time.time()
        again = it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)
        assert again["state_type"] == "COMPLETED", again["state"]["message"]
        runs = runs_since(it, started).values()
        skipped = [run for run in runs if run["state_name"] == "Skipped"]
        assert len(skipped) == 5
        assert all(run["total_run_time"] < 2 for run in skipped)


def test_without_a_gpu_worker_the_pipeline_trains_itself(it: Lab) -> None:
    started = time.time()
    wait_for(lambda: not it.online("gpu"))
    with it.worker("cpu"):
        assert it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)["state_type"] == "COMPLETED"
    (training,) = [r for n, r in runs_since(it, started).items() if n.startswith("train byol-")]
    assert training["work_pool_name"] is None


def test_a_pool_without_a_worker_is_waited_for_and_then_a_clear_failure(it: Lab) -> None:
    wait_for(lambda: not it.online("gpu"))
    patient = '\ntraining = "pool"\npool_patience_s = 20.0\n'
    configure(it, CONFIG + patient)
    with it.worker("cpu"):
        run = it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)
        assert run["state_type"] == "FAILED"
        assert "for a worker of the pool 'gpu'" in run["state"]["message"]
        assert "waiting for a worker of the pool 'gpu', at most 20 s" in it.log("cpu")
        with it.worker("gpu"):  # the next run picks it up
            wait_for(lambda: it.online("gpu"))
            run = it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)
            assert run["state_type"] == "COMPLETED"


def test_a_pool_that_is_gone_is_a_clear_failure_and_deploy_makes_it_again(it: Lab) -> None:
    prefect(it.folder, it.client, "--no-prompt", "work-pool", "delete", "gpu")
    configure(it, f'{CONFIG}\ntraining = "pool"\n')
    with it.worker("cpu"):
        run = it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)
        assert run["state_type"] == "FAILED"
        assert "deaps-train/run is not deployed with a work pool" in run["state"]["message"]
        subprocess.run([str(BIN / "deaps"), "deploy"], cwd=it.folder, env=it.client, check=True)
        with it.worker("gpu"):
            wait_for(lambda: it.online("gpu"))
            run = it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)
            assert run["state_type"] == "COMPLETED"


def test_a_pool_name_that_does_not_exist_is_named_by_deploy(it: Lab) -> None:
    misspelt = (it.folder / "prefect.yaml").read_text().replace("name: gpu", "name: gqu")
    (it.folder / "misspelt.yaml").write_text(misspelt)
    done = subprocess.run(
        [str(BIN / "deaps"), "deploy", "--file", "misspelt.yaml"],
        cwd=it.folder, env=it.client, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "misspelt.yaml: This deployment configuration references work pool 'gqu'" in last


def test_two_pipelines_at_once_train_once(it: Lab) -> None:
    """Two of the deployment wait for each other; one by hand meets them in the store."""
    with it.worker("cpu"), it.worker("cpu", "cpu-2"), it.worker("gpu"), it.worker("gpu", "gpu-2"):
        wait_for(lambda: len(it.online("gpu")) == 2)
        names = [it.start("deaps-pipeline/full") for _ in range(2)]
        by_hand = [str(BIN / "deaps"), "run"]
        with running(by_hand, it.folder, it.client, "by-hand") as process:
            first, second = sorted(
                (it.ended(name, PATIENCE_S) for name in names), key=lambda run: run["start_time"]
            )
            assert process.wait(PATIENCE_S) == 0, it.log("by-hand")
    assert [run["state_type"] for run in (first, second)] == ["COMPLETED"] * 2
    assert first["end_time"] <= second["start_time"]
    (run,) = (it.folder / "store/runs").glob("byol-*")
    assert steps(run) == [1, 2]
    assert len(list((it.folder / "store/reports").glob("*/index.html"))) == 1
    events = last_events(it.folder / "store", is_training, most=9)
    assert len(events) == 1


def is_training(event: dict[str, Any]) -> bool:
    return event["event"] == "stage started" and event["stage"] == "train"


def test_a_failed_training_stops_no_other_and_the_report_names_it(it: Lab) -> None:
    bad = 'tuned = {pclr = ["training.learning_rate=1e30", "training.iterations=9"]}'
    both = CONFIG.replace('methods = ["byol"]', f'methods = ["byol", "pclr"]\n{bad}')
    configure(it, both.replace("iterations = 2", "iterations = 9", 1))
    with it.worker("cpu"), it.worker("gpu"):
        wait_for(lambda: it.online("gpu"))
        run = it.ended(it.start("deaps-pipeline/full"), PATIENCE_S)
    assert run["state_type"] == "FAILED"
    assert "1 training failed (pclr-" in run["state"]["message"]
    assert "The report of the others: " in run["state"]["message"]
    assert "PCLR, seed 0: not trained (run pclr-" in report_text(it)


def test_a_worker_that_sees_another_store_refuses_before_any_step(it: Lab) -> None:
    elsewhere = it.folder / "elsewhere.toml"
    elsewhere.write_text(f'[store]\nroot = "{it.folder}/another"\n{CONFIG}')
    # Another mount: the path of the pipeline's store does not exist for this worker.
    hidden = it.folder / "store"
    with it.worker("cpu"), it.worker("gpu", "blind", DEAPS_CONFIG=str(elsewhere)):
        wait_for(lambda: it.online("gpu"))
        name = it.start("deaps-pipeline/full", f'overrides=["store.root={hidden}/./"]')
        wait_for(lambda: list(hidden.glob("runs/*/config.toml")), PATIENCE_S)
        # What this worker is shown at that path is a store with another id.
        true_id = (hidden / "store-id").read_text()
        (hidden / "store-id").write_text("0" * 32)
        run = it.ended(name, PATIENCE_S)
        (hidden / "store-id").write_text(true_id)
    assert run["state_type"] == "FAILED"
    assert "does not see the store" in run["state"]["message"]
    assert not list(hidden.glob("runs/*/metrics*"))


@pytest.mark.parametrize("victim", ["worker", "child", "both"])
def test_a_training_goes_on_bit_for_bit_whatever_is_killed(it: Lab, victim: str) -> None:
    configure(it, LONG)
    deaps(it, "preprocess")
    shutil.copytree(it.folder / "store", it.folder / f"alone-{victim}")
    with ExitStack() as stack:
        stack.enter_context(it.worker("cpu"))
        first = stack.enter_context(it.worker("gpu", f"first-{victim}"))
        wait_for(lambda: it.online("gpu"))
        started = time.time()
        full = it.start("deaps-pipeline/full")
        (run,) = wait_for(lambda: list((it.folder / "store/runs").glob("byol-*")), PATIENCE_S)
        wait_for(lambda: list((run / "checkpoints").glob("*")), PATIENCE_S)
        stack.enter_context(it.worker("gpu", f"second-{victim}"))
        kill(first, victim)
        killed_at = time.time()
        if victim == "both":
            assert crashed_after(it, started, killed_at) < 150
        ended = it.ended(full, 1500)
    assert ended["state_type"] == "COMPLETED", it.log("cpu")[-3000:]
    deaps(it, "train", "--method=byol", f"--set=store.root=alone-{victim}")
    expected = weights(it.folder / f"alone-{victim}/runs" / run.name)
    for name, value in weights(run).items():
        assert torch.equal(value, expected[name]), name
    assert steps(run) == steps(it.folder / f"alone-{victim}/runs" / run.name)
    begun = last_events(it.folder / "store", is_training, most=9)
    assert len(begun) == (1 if victim == "worker" else 2)  # a child that lives on goes on alone


def kill(worker: subprocess.Popen[bytes], victim: str) -> None:
    """Kill a worker, the process that trains, or both."""
    children = psutil.Process(worker.pid).children(recursive=True)
    if victim in ("worker", "both"):
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    if victim in ("child", "both"):
        for child in children:
            child.kill()


def crashed_after(it: Lab, started: float, killed_at: float) -> float:
    """Return the seconds from a kill until the server knows that the run has crashed."""

    def crashed() -> bool:
        found = it.api.find("flow_runs", flow_runs={"state": {"type": {"any_": ["CRASHED"]}}})
        return any(
            run["name"].startswith("train byol-") and _seconds(run["created"]) >= started - 1
            for run in found
        )

    wait_for(crashed, 300)
    return time.time() - killed_at


def weights(run: Path) -> dict[str, torch.Tensor]:
    (last,) = sorted((run / "encoders").glob("*.safetensors"))[-1:]
    return dict(load_file(last))


def steps(run: Path) -> list[int]:
    import json

    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def test_a_changed_data_set_leads_to_a_report_that_says_what_changed(it: Lab) -> None:
    configure(it, f'{CONFIG}\n[refresh]\nthen = "evaluate"\n')
    with it.worker("cpu"), it.worker("gpu"):
        wait_for(lambda: it.online("gpu"))
        name = it.start("deaps-preprocess/refresh")
        assert it.ended(name, PATIENCE_S)["state_type"] == "COMPLETED"
        shhs = it.folder / "data/shhs/polysomnography/edfs/shhs1"
        added = write_edf(shhs / "shhs1-299999.edf", {"ECG": beats(360, seed=9)})
        started = time.time()
        try:
            name = it.start("deaps-preprocess/refresh")
            assert it.ended(name, PATIENCE_S)["state_type"] == "COMPLETED"
        finally:
            added.unlink()
    trained = [r for n, r in runs_since(it, started).items() if n.startswith("train byol-")]
    assert [run["work_pool_name"] for run in trained] == ["gpu"]
    assert len(list((it.folder / "store/reports").glob("*/index.html"))) == 2
    page = report_text(it)
    assert "The last one of the same experiment" in page
    assert "1 recording added" in page
