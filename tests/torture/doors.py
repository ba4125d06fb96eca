"""Who gets in at the server that commands start: with its password and from its own pages alone."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.sync.client import connect

from flows.runtime.local_server import server_environment
from tests.flows.prefect_processes import free_port, wait_for
from tests.torture.child import BrokenError

_START = """
import sys
from flows.runtime import local_server
from tests.torture import planted
with planted.bug():
    local_server.main()
"""
PASSWORD = "deaps:of-this-try"


def closed_doors(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Start a server as commands do, and try to get in."""
    port, folder = free_port(), folder.resolve()
    folder.mkdir(exist_ok=True)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT")},
        **server_environment(PASSWORD),
        "PREFECT_HOME": str(folder),
        "PYTHONPATH": str(Path.cwd()),
    }
    command = [sys.executable, "-c", _START, str(port)]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(lambda: _status(port, "/api/health") == 200, 60)
        if problems := _open_doors(port):
            raise BrokenError("; ".join(problems))
    finally:
        server.terminate()
        server.wait(20)


def _open_doors(port: int) -> list[str]:
    key = "Basic " + base64.b64encode(PASSWORD.encode()).decode()
    version, pages = "/api/admin/version", f"http://127.0.0.1:{port}"
    expected = {
        "without a password": (_status(port, version), 401),
        "with a wrong one": (_status(port, version, Authorization="Basic eDp5"), 401),
        "with the password": (_status(port, version, Authorization=key), 200),
        "from its own pages": (_status(port, version, Authorization=key, Origin=pages), 200),
        "from another page": (
            _status(port, version, Authorization=key, Origin="http://localhost:1"), 403,
        ),
        "under another name": (_status(port, version, Authorization=key, Host="evil.example"), 403),
        "health for another page": (_status(port, "/api/health", Origin="http://evil"), 403),
        "a socket of another page": (_socket(port, "http://evil.example"), False),
    }  # fmt: skip
    return [f"{who}: {got}, not {right}" for who, (got, right) in expected.items() if got != right]


def _status(port: int, path: str, **headers: str) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def _socket(port: int, origin: str) -> bool:
    """Return whether a page of another origin can open the socket of events."""
    address = f"ws://127.0.0.1:{port}/api/events/in"
    try:
        with connect(address, origin=origin, subprotocols=["prefect"], open_timeout=5):  # type: ignore[arg-type,list-item]
            return True
    except (InvalidStatus, InvalidHandshake, OSError):
        return False
