"""The literal command of the second shell: ``python -m tests.second_shell`` after ``make demo``.

``deaps serve`` runs in one process, ``prefect deployment run deaps-pipeline/full`` in another. Over
the demo's store every stage is skipped; over an empty store of a tiny cohort every stage is a flow
run.
"""

from __future__ import annotations

import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

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

STAGES = ("deaps-preprocess", "deaps-train", "deaps-embed", "deaps-evaluate", "deaps-report")


def main() -> None:
    """Try both, print what was seen, and fail with an AssertionError."""
    states = run_in_second_shell(ROOT, ROOT / ".prefect", "--preset", "demo")
    assert states == {name: Counter(Skipped=1) for name in STAGES}, states
    with tempfile.TemporaryDirectory(prefix="deaps-second-shell-") as made:
        folder = make_project(Path(made) / "project")
        states = run_in_second_shell(folder, folder / ".prefect")
        assert states == {name: Counter(Completed=1) for name in STAGES}, states
        assert list((folder / "store/reports").glob("*/index.html"))


def run_in_second_shell(folder: Path, home: Path, *options: str) -> dict[str, Counter[str]]:
    """Return the states of the stages' flow runs of one run of the pipeline, by flow."""
    port = free_port()
    serve = [str(BIN / "deaps"), "serve", f"--port={port}", "--reports-port=0", *options]
    with (
        tempfile.TemporaryDirectory() as logs,
        running(serve, folder, environment(), f"{logs}/serve") as process,
    ):
        log = Path(logs) / "serve.log"
        wait_for(lambda: "offering deaps-report/newest" in log.read_text())
        started = time.monotonic()
        printed = prefect(folder, environment(), "deployment", "run", "deaps-pipeline/full")
        queued_s = time.monotonic() - started
        api = Api(port, (home / "password.txt").read_text().strip())
        run = wait_for(lambda: api.ended_run(created_run(printed)), patience_s=900)
        took_s = time.monotonic() - started
        states = stage_states(api, run["id"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    shown = {name: dict(seen) for name, seen in states.items()}
    print(f"{run['state_name']} in {took_s:.0f} s, queued in {queued_s:.1f} s: {shown}")
    assert run["state_name"] == "Completed", run["state"]
    return states


def stage_states(api: Api, pipeline: str) -> dict[str, Counter[str]]:
    """Return the states of the flow runs below a pipeline's, by the flow's name."""
    flows = {flow["id"]: flow["name"] for flow in api.find("flows")}
    tasks = {task["id"] for task in api.find("task_runs") if task["flow_run_id"] == pipeline}
    states: dict[str, Counter[str]] = {name: Counter() for name in STAGES}
    for run in api.find("flow_runs"):
        if run["parent_task_run_id"] in tasks:
            states[flows[run["flow_id"]]][run["state_name"]] += 1
    return states


if __name__ == "__main__":
    main()
