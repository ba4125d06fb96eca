"""One machine: ``deaps serve`` in one shell, ``prefect deployment run`` in another."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from flows.runtime.flow_start import start_flow
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


@pytest.mark.slow
def test_the_bare_command_in_the_project_folder_runs_the_pipeline(tmp_path: Path) -> None:
    folder, port = make_project(tmp_path / "project"), free_port()
    serve = [str(BIN / "deaps"), "serve", "--port", str(port)]
    with running(serve, folder, environment(), "serve") as process:
        log = folder / "serve.log"
        wait_for(lambda: "offering deaps-evaluate/all" in log.read_text())
        assert len(servers_below(process.pid)) == 1
        printed = prefect(folder, environment(), "deployment", "run", "deaps-pipeline/full")
        run = wait_for(lambda: Api(port).ended_run(created_run(printed)))
        assert run["state_type"] == "COMPLETED", log.read_text()
        assert list((folder / "store" / "reports").glob("*/index.html"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert not Api(port).healthy()  # its server went with it


def servers_below(pid: int) -> list[psutil.Process]:
    """Return the Prefect servers that a process has started."""
    return [
        process
        for process in psutil.Process(pid).children(recursive=True)
        if {"prefect", "server"} <= set(process.cmdline())
        or any("prefect.server" in word for word in process.cmdline())
    ]


def test_without_any_configuration_a_flow_is_the_demo_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEAPS_CONFIG", raising=False)
    before = signal.getsignal(signal.SIGTERM), dict(os.environ)
    settings, preset = start_flow(None, None, None)
    signal.signal(signal.SIGTERM, before[0])
    assert preset == "demo"
    assert settings.store.root == Path("demo-store")
    assert "this is the preset 'demo'" in capsys.readouterr().err


def test_deaps_toml_in_the_working_folder_comes_before_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deaps.toml").write_text('[store]\nroot = "mine"\n')
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    settings, preset = start_flow(None, None, None)
    signal.signal(signal.SIGTERM, before)
    assert preset is None
    assert settings.store.root == Path("mine")
