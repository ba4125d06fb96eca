"""One machine: ``deaps serve`` in one shell, ``prefect deployment run`` in another."""

from __future__ import annotations

import re
import signal
import urllib.request
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


@pytest.mark.slow
def test_the_bare_command_in_the_project_folder_runs_the_pipeline(tmp_path: Path) -> None:
    folder, port = make_project(tmp_path / "project"), free_port()
    serve = [str(BIN / "deaps"), "serve", "--port", str(port)]
    with running(serve, folder, environment(), "serve") as process:
        log = folder / "serve.log"
        wait_for(lambda: "offering deaps-evaluate/all" in log.read_text())
        assert len(servers_below(process.pid)) == 1
        printed = prefect(folder, environment(), "deployment", "run", "deaps-pipeline/full")
        api = Api(port, (folder / ".prefect/password.txt").read_text().strip())
        run = wait_for(lambda: api.ended_run(created_run(printed)))
        assert run["state_type"] == "COMPLETED", log.read_text()
        assert list((folder / "store" / "reports").glob("*/index.html"))
        with urllib.request.urlopen(report_link(api)) as page:
            assert b"</html>" in page.read()
        messages = [log["message"] for log in api.find("logs")]
        assert "store: store, settings: deaps.toml" in messages
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert not Api(port).healthy()  # its server went with it


def report_link(api: Api) -> str:
    """Return where the link to the report in Prefect's pages leads."""
    (link,) = {a["data"] for a in api.find("artifacts") if a["key"] == "report"}
    match = re.search(r"\((http://127[^)]*)\)", link)
    assert match, link
    return match[1]


def servers_below(pid: int) -> list[psutil.Process]:
    """Return the Prefect servers that a process has started."""
    return [
        process
        for process in psutil.Process(pid).children(recursive=True)
        if any("flows.runtime.local_server" in word for word in process.cmdline())
    ]


@pytest.mark.slow
def test_killed_serve_leaves_no_server_and_gets_its_port_again(tmp_path: Path) -> None:
    folder, port = make_project(tmp_path / "project"), free_port()
    serve = [str(BIN / "deaps"), "serve", "--port", str(port)]
    with running(serve, folder, environment(), "first") as process:
        servers = wait_for(lambda: servers_below(process.pid))
        process.kill()  # while it starts: nothing has been noted yet, or not for long
        process.wait()
    with running(serve, folder, environment(), "second") as process:
        log = folder / "second.log"
        wait_for(lambda: "Prefect's pages:" in log.read_text())
        assert f"http://127.0.0.1:{port}" in log.read_text()
        assert not any(server.is_running() for server in servers)
        servers = servers_below(process.pid)
        process.kill()
        process.wait()
        wait_for(lambda: not any(server.is_running() for server in servers), 20)
