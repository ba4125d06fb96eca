"""kill -9 of workers, flows and servers; and work where there is no server or no network."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import prefect
import psutil

from tests.flows.prefect_processes import free_port
from tests.torture.child import BrokenError, forked
from tests.torture.commands import (
    below,
    has_windows,
    make_project,
    output_of,
    require_no_orphans,
    require_success,
    started,
    wait_until,
)
from tests.torture.project import require_same, require_whole

_SERVER, _WORKER = "local_server", "spawn_main"


def kill_process(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Kill a worker, a flow, Prefect's server or a serve process, in start-up (odd) or in work."""
    expected = make_project(folder)
    kill = (_kill_worker, _kill_flow, _kill_server, _kill_serve)[number // 2 % 4]
    kill(rng, folder, in_start=number % 2 == 1)
    require_no_orphans(folder)
    forked(partial(require_whole, folder))
    forked(partial(require_same, folder, expected))


def _kill_worker(rng: np.random.Generator, folder: Path, *, in_start: bool) -> None:
    with started(folder, "preprocess") as flow:
        workers = wait_until(lambda: below(flow, _WORKER), flow)
        if not in_start:
            wait_until(lambda: has_windows(folder), flow)
        time.sleep(float(rng.uniform(0, 0.5)))
        for worker in workers[-1:]:
            _kill(worker)
        require_success(flow, folder)
        require_no_orphans(folder)


def _kill_flow(rng: np.random.Generator, folder: Path, *, in_start: bool) -> None:
    with started(folder, "preprocess") as flow:
        if in_start:
            time.sleep(float(rng.uniform(0, 15)))
        else:
            wait_until(lambda: has_windows(folder), flow)
            time.sleep(float(rng.uniform(0, 0.5)))
        _kill(flow)
        flow.wait()
        require_no_orphans(folder)


def _kill_server(rng: np.random.Generator, folder: Path, *, in_start: bool) -> None:
    """Kill the server of ``deaps serve`` under a command that is a flow run there."""
    words = ("serve", "--port", str(free_port()), "--reports-port", "0")
    with started(folder, *words, log_name="serve.log") as serve:
        wait_until(lambda: "offering deaps-report" in (folder / "serve.log").read_text(), serve)
        servers = below(serve, _SERVER)
        with started(folder, "preprocess") as flow:
            if in_start:
                wait_until(lambda: "asking the Prefect server" in output_of(folder), flow)
            else:
                wait_until(lambda: has_windows(folder), flow)
            time.sleep(float(rng.uniform(0, 1.0)))
            for server in servers:
                _kill(server)
            require_success(flow, folder)


def _kill_serve(rng: np.random.Generator, folder: Path, *, in_start: bool) -> None:
    with started(folder, "serve", "--port", str(free_port())) as serve:
        if in_start:
            time.sleep(float(rng.uniform(0, 15)))
        else:
            wait_until(lambda: "offering deaps-evaluate" in output_of(folder), serve)
        _kill(serve)
        serve.wait()
        require_no_orphans(folder)


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return  # it ended by itself a moment before


def without_server(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Take the network or the server away: the data work completes."""
    expected = make_project(folder)
    _AWAY[number % len(_AWAY)](folder)
    require_no_orphans(folder)
    forked(partial(require_whole, folder))
    forked(partial(require_same, folder, expected))


def _no_network(folder: Path) -> None:
    """Leave only the machine's own loopback."""
    words = ("unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up; exec "$@"', "-")
    with started(folder, "preprocess", prefix=words) as flow:
        require_success(flow, folder)


def _no_server(folder: Path) -> None:
    """Name a server where nobody listens."""
    _complete_with(folder, f"http://127.0.0.1:{free_port()}/api")


def _silent_server(folder: Path) -> None:
    """Name a server that accepts and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(50)
        _complete_with(folder, f"http://127.0.0.1:{listener.getsockname()[1]}/api")


def _broken_server(folder: Path) -> None:
    """Name a server that answers 500 to everything."""
    with _failing_server() as port:
        _complete_with(folder, f"http://127.0.0.1:{port}/api")


def _breaking_server(folder: Path) -> None:
    """Name a server that says its version and then answers 500 to everything."""
    with _failing_server(_FailingLater) as port:
        url = f"http://127.0.0.1:{port}/api"
        with started(folder, "preprocess", PREFECT_API_URL=url) as flow:
            require_success(flow, folder)
    if "going on without it" not in output_of(folder):
        raise BrokenError(f"nothing says that the server is gone: {output_of(folder)}")


def _lost_server(folder: Path) -> None:
    """Kill the server of ``deaps serve`` in the middle."""
    _kill_server(np.random.default_rng(0), folder, in_start=False)


def _complete_with(folder: Path, url: str) -> None:
    with started(folder, "preprocess", PREFECT_API_URL=url) as flow:
        require_success(flow, folder)
    if "working without Prefect" not in output_of(folder):
        raise BrokenError(f"nothing says that the server is missing: {output_of(folder)}")


class _Failing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(500)

    do_POST = do_GET  # noqa: N815 - the library's name

    def log_message(self, *_: object) -> None:
        return


class _FailingLater(_Failing):
    def do_GET(self) -> None:
        if not self.path.endswith("/admin/version"):
            self.send_error(500)
            return
        answer = json.dumps(prefect.__version__).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


@contextmanager
def _failing_server(handler: type[_Failing] = _Failing) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()


_AWAY: tuple[Callable[[Path], None], ...] = (
    _no_network, _no_server, _silent_server, _broken_server, _breaking_server, _lost_server,
)  # fmt: skip
