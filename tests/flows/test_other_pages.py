"""What a page of another site, a stranger on the machine and a forged name get: nothing."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.deaps.report.browser import CHROMIUM, chromium
from tests.flows.prefect_processes import BIN, Api, free_port, prefect, running, wait_for
from tests.flows.tiny_project import environment, make_project

ATTACK = """
async (address, id) => {
  const json = {"content-type": "application/json"};
  const tries = {
    read: () => fetch(address + "/api/deployments/filter", {method: "POST", headers: json,
      body: "{}"}).then((answer) => answer.text()),
    token: () => fetch(address + "/api/csrf-token?client=evil").then((answer) => answer.text()),
    change: () => fetch(address + "/api/deployments/" + id, {method: "PATCH", headers: json,
      body: JSON.stringify({pull_steps: [{"prefect.deployments.steps.run_shell_script":
        {script: "touch PWNED"}}]})}).then((answer) => answer.status),
    simple: () => fetch(address + "/api/deployments/" + id + "/create_flow_run", {method: "POST",
      mode: "no-cors", headers: {"content-type": "text/plain"}, body: "{}"}).then((a) => a.type),
    socket: () => new Promise((done, failed) => {
      const events = new WebSocket(address.replace("http", "ws") + "/api/events/in", ["prefect"]);
      events.onopen = () => done("open");
      events.onerror = () => failed(new Error("refused"));
    }),
  };
  const got = {};
  for (const [name, attempt] of Object.entries(tries)) {
    try { got[name] = await attempt(); } catch (error) { got[name] = "refused"; }
  }
  return JSON.stringify(got);
}
"""


@contextmanager
def another_site(folder: Path) -> Iterator[str]:
    """Serve a page from another port of this machine."""
    folder.mkdir()
    (folder / "index.html").write_text("<title>another site</title>")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def attack(folder: Path, page: str, address: str, deployment: str) -> dict[str, Any]:
    """Return what a page gets that tries to read, change and start what a server runs."""
    folder.mkdir()
    with chromium(folder) as tab:
        tab.call("Page.enable")
        tab.call("Page.navigate", url=page)
        wait_for(lambda: tab.evaluate("document.title") == "another site", 30)
        got: dict[str, Any] = json.loads(tab.evaluate(f"({ATTACK})({address!r}, {deployment!r})"))
        return got


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_page_of_another_origin_gets_nothing_and_the_bare_command_goes_on(tmp_path: Path) -> None:
    folder, port = make_project(tmp_path / "project"), free_port()
    serve = [str(BIN / "deaps"), "serve", "--port", str(port)]
    with running(serve, folder, environment(), "serve"), another_site(tmp_path / "site") as page:
        log = folder / "serve.log"
        wait_for(lambda: "offering deaps-report/newest" in log.read_text(), 120)
        api = Api(port, (folder / ".prefect/password.txt").read_text().strip())
        full = wait_for(lambda: deployment(api, "full"), 60)
        got = attack(tmp_path / "browser", page, f"http://127.0.0.1:{port}", full["id"])
        assert got == dict.fromkeys(("read", "token", "change", "socket"), "refused") | {
            "simple": "opaque"  # a browser tells no more; that nothing came of it is seen below
        }
        assert api.find("flow_runs") == []
        assert deployment(api, "full") == full
        printed = prefect(folder, environment(), "deployment", "run", "deaps-pipeline/full")
        assert f"http://127.0.0.1:{port}/runs/flow-run/" in printed
    assert not list(tmp_path.rglob("PWNED"))


def deployment(api: Api, name: str) -> dict[str, Any] | None:
    """Return what the server has of a deployment."""
    return next((found for found in api.find("deployments") if found["name"] == name), None)


def listening(process: psutil.Process) -> dict[tuple[str, int], str]:
    """Return address and port of all that a process and those below it listen on, and who."""
    found = {}
    for each in [process, *process.children(recursive=True)]:
        try:
            for connection in each.net_connections("inet"):
                if connection.status == psutil.CONN_LISTEN:
                    found[connection.laddr.ip, connection.laddr.port] = " ".join(each.cmdline())
        except psutil.Error:
            continue
    return found


def answer(port: int, path: str, **headers: str) -> int:
    """Return the status of an answer; 0 where what listens does not speak HTTP."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as page:
            return int(page.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, ValueError):
        return 0


PORTS = {
    "flows.runtime.local_server": "Prefect's pages and API: a password",
    "deaps serve": "reports: this machine's names, own pages",
    "prefect.engine": "Dask's scheduler and its pages: processes of this machine",
    "distributed": "Dask's scheduler, workers and pages: processes of this machine",
    "multiprocessing": "Dask's scheduler, workers and pages: processes of this machine",
}
"""Who opens ports, and what they ask for; docs/reliability.md has the same table."""


@pytest.mark.slow
def test_every_port_that_commands_open_is_on_this_machine_alone_and_known(tmp_path: Path) -> None:
    folder, port = make_project(tmp_path / "project"), free_port()
    serve = [str(BIN / "deaps"), "serve", "--port", str(port)]
    seen: dict[tuple[str, int], str] = {}
    with running(serve, folder, environment(), "serve") as process:
        log = folder / "serve.log"
        wait_for(lambda: "offering deaps-report/newest" in log.read_text(), 120)
        root = psutil.Process(process.pid)
        seen |= listening(root)
        for name, path in (("reports", "/"), ("prefect", "/api/admin/version")):
            where = port if name == "prefect" else reports_port(log)
            assert answer(where, path) == (401 if name == "prefect" else 200)
            assert answer(where, path, Host="evil.example") == 403
            assert answer(where, path, Origin="http://localhost:1") == 403
        prefect(folder, environment(), "deployment", "run", "deaps-preprocess/refresh")

        def ended() -> bool:
            seen.update(listening(root))
            return "Dask's pages" in log.read_text() and (folder / "store/index.duckdb").exists()

        wait_for(ended, 180, every_s=0.1)
    assert len(seen) >= 4, seen
    assert {ip for ip, _ in seen} <= {"127.0.0.1", "::1"}, seen
    unknown = [command for command in seen.values() if not any(who in command for who in PORTS)]
    assert not unknown


def reports_port(log: Path) -> int:
    (line,) = (line for line in log.read_text().splitlines() if line.startswith("reports:"))
    return int(line.rpartition(":")[2])


@pytest.mark.slow
def test_a_run_without_a_server_opens_no_door(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    seen: dict[tuple[str, int], str] = {}
    with running([str(BIN / "deaps"), "run"], folder, environment(), "run") as process:
        while process.poll() is None:
            seen |= listening(psutil.Process(process.pid)) if psutil.pid_exists(process.pid) else {}
            for (ip, port), command in list(seen.items()):
                if "prefect" in command and answer(port, "/api/health") == 200:
                    assert answer(port, "/api/admin/version") == 401
                    assert ip == "127.0.0.1"
            try:
                process.wait(0.3)
            except Exception:
                continue
    assert process.returncode == 0, (folder / "run.log").read_text()
    assert {ip for ip, _ in seen} <= {"127.0.0.1", "::1"}, seen
