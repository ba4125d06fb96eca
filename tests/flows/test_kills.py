"""Whatever is killed, nothing is lost and the next run completes."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tests.flows.prefect_processes import (
    BIN,
    Api,
    created_run,
    free_port,
    prefect,
    running,
    wait_for,
)
from tests.flows.tiny_project import environment, make_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


def window_files(folder: Path) -> dict[str, int]:
    return {str(p): p.stat().st_mtime_ns for p in (folder / "store/windows").rglob("*.parquet")}


def report_of(folder: Path) -> list[Path]:
    return list((folder / "store" / "reports").glob("*/index.html"))


def below(pid: int, *words: str) -> list[psutil.Process]:
    """Return a process's descendants whose command line has all the words."""
    found = []
    for process in psutil.Process(pid).children(recursive=True):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if all(word in line for word in words):
            found.append(process)
    return found


def test_a_killed_flow_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    run = [str(BIN / "deaps"), "run"]
    with running(run, folder, environment(), "first") as process:
        wait_for((folder / "store" / "index.duckdb").exists)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = window_files(folder)
    assert done
    assert not report_of(folder)
    with running(run, folder, environment(), "second") as process:
        assert process.wait(400) == 0, (folder / "second.log").read_text()
    assert report_of(folder)
    assert window_files(folder) == done


def test_a_killed_dask_worker_loses_nothing(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    run = [str(BIN / "deaps"), "run", "--config", "deaps.toml", "--set", "execution.workers=2"]
    with running(run, folder, environment(), "run") as process:
        log = folder / "run.log"
        wait_for(lambda: "Dask's pages" in log.read_text())
        workers = wait_for(lambda: below(process.pid, "spawn_main"))
        workers[0].kill()
        assert process.wait(400) == 0, log.read_text()
    assert report_of(folder)


def test_a_run_goes_on_without_the_server_of_serve(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    deaps = str(BIN / "deaps")
    serve = [deaps, "serve", "--port", str(free_port()), "--reports-port", "0"]
    with (
        running(serve, folder, environment(), "serve") as server,
        ExitStack() as stack,
    ):
        wait_for(lambda: "offering deaps-evaluate" in (folder / "serve.log").read_text())
        process = stack.enter_context(running([deaps, "run"], folder, environment(), "run"))
        wait_for((folder / "store" / "index.duckdb").exists)
        os.killpg(server.pid, signal.SIGKILL)  # its server ends with it
        assert process.wait(900) == 0, (folder / "run.log").read_text()
    assert report_of(folder)
    assert "going on without" in (folder / "run.log").read_text()


@pytest.mark.parametrize("victim", ["worker", "server"])
def test_the_next_run_completes_after_a_kill(tmp_path: Path, victim: str) -> None:
    folder = make_project(tmp_path / "project")
    first = served_run(folder, victim)
    assert first is None
    done = window_files(folder)
    assert done
    run = served_run(folder)
    assert run is not None
    assert run["state_type"] == "COMPLETED"
    assert report_of(folder)
    assert {path: when for path, when in window_files(folder).items() if path in done} == done


def served_run(folder: Path, victim: str | None = None) -> dict[str, object] | None:
    """Return the ended run of a server and a worker; None if one of them was killed in it."""
    port = free_port()
    api = Api(port)
    client = environment(PREFECT_API_URL=api.url)
    with ExitStack() as stack:
        start = [str(BIN / "prefect"), "server", "start", "--host=127.0.0.1", f"--port={port}"]
        server = stack.enter_context(running(start, folder, environment(), "server"))
        wait_for(api.healthy)
        if not api.find("work_pools"):
            deploy = [str(BIN / "deaps"), "deploy"]
            subprocess.run(deploy, cwd=folder, env=client, check=True, capture_output=True)
        command = [str(BIN / "prefect"), "worker", "start", "--pool", "cpu"]
        worker = stack.enter_context(running(command, folder, client, "worker"))
        printed = prefect(folder, client, "deployment", "run", "deaps-pipeline/full")
        if victim is None:
            # The killed run holds the deployment's slot until the server hears of its silence.
            name = created_run(printed)
            run: dict[str, object] = wait_for(lambda: api.ended_run(name), patience_s=900)
            return run
        wait_for((folder / "store" / "index.duckdb").exists)
        killed = {"worker": worker, "server": server}[victim]
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
        return None
