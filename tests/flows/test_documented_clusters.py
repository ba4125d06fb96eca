"""A Dask cluster and a training on two nodes, by the commands that docs/operations.md shows.

The hosts are this machine, 127.0.0.1; the commands are taken from the page.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.docs.shown_blocks import commands, shown_block
from tests.flows.prefect_processes import BIN, free_port, running, wait_for
from tests.flows.tiny_project import ask, environment, make_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

ONE_THREAD = environment(OMP_NUM_THREADS="1", PATH=f"{BIN}:/usr/bin:/bin")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a store that was made and evaluated by this machine's own workers."""
    folder = make_project(tmp_path_factory.mktemp("clusters") / "project")
    shell(folder, "deaps run --set store.root=local")
    return folder


def shell(folder: Path, command: str) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env=ONE_THREAD, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def test_the_shown_dask_cluster_gives_what_local_workers_give(project: Path) -> None:
    port = str(free_port())
    names = {"--host 0.0.0.0": f"--host 127.0.0.1 --port {port}", "HOST:8786": f"127.0.0.1:{port}"}
    block = shown_block("operations.md", "dask scheduler", names)
    scheduler, variables, worker, run = commands(block)
    assert variables.startswith("export ")
    address = f"127.0.0.1:{port}"
    with ExitStack() as stack:
        for k, command in enumerate([scheduler, worker, worker]):
            line = ["bash", "-c", f"{variables}; exec {command} --no-dashboard"]
            stack.enter_context(running(line, project, ONE_THREAD, f"dask-{k}"))
            wait_for(lambda k=k: address in (project / f"dask-{k}.log").read_text(), 120)
        said = shell(project, f"{run} --set store.root=by-dask")
    assert f"asking the Dask scheduler at tcp://{address}" in said
    assert "starting 1 worker" not in said
    for question in (
        "SELECT snapshot_id FROM snapshot",
        "SELECT benchmark, method, metric, value, low, high, encoder_sha256 FROM results "
        "ORDER BY ALL",
    ):
        found = ask(project / "by-dask", question)
        assert found
        assert found == ask(project / "local", question)


def test_the_shown_training_on_two_nodes_is_one_training(project: Path) -> None:
    names = {"FIRST_HOST:29400": f"127.0.0.1:{free_port()}", "per_node=4": "per_node=1"}
    (command,) = commands(shown_block("operations.md", "execution.nodes=2", names))
    alone = "deaps train --method deaps"
    exact = "--set training.precision=float32"
    for store, at_once in (("alone", [alone]), ("two-nodes", [command, command])):
        shell(project, f"deaps preprocess --set store.root={store}")
        with ExitStack() as stack:
            nodes = [
                stack.enter_context(
                    running(
                        ["bash", "-c", f"exec {each} {exact} --set store.root={store}"],
                        project, ONE_THREAD, f"{store}-{k}",
                    )
                )
                for k, each in enumerate(at_once)
            ]  # fmt: skip
            for k, node in enumerate(nodes):
                assert node.wait(600) == 0, (project / f"{store}-{k}.log").read_text()
    expected, ours = losses(project / "alone"), losses(project / "two-nodes")
    assert [step for step, _ in ours] == [step for step, _ in expected] == [1, 2]
    # The same batch in two halves: sums in another order, nothing else.
    assert [loss for _, loss in ours] == pytest.approx([loss for _, loss in expected], rel=1e-5)


def losses(store: Path) -> list[tuple[int, float]]:
    (run,) = (store / "runs").iterdir()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(row["step"], row["loss"]) for row in rows]
