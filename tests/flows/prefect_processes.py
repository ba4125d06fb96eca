"""Prefect's servers and workers as processes of a test, on 127.0.0.1 alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
PATIENCE_S = 400


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: list[str], folder: Path, env: dict[str, str], name: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command, its output in ``name``.log, until the block ends; end its whole group."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(
    what: Callable[[], Any], patience_s: float = PATIENCE_S, *, every_s: float = 0.5
) -> Any:
    """Return what ``what`` returns once it is true."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if found := what():
            return found
        time.sleep(every_s)
    raise TimeoutError(f"nothing after {patience_s} s")


class Api:
    """A Prefect server's API, asked as any client would."""

    def __init__(self, port: int, auth: str | None = None) -> None:
        self.url, self.auth = f"http://127.0.0.1:{port}/api", auth

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def find(self, what: str, **question: Any) -> list[dict[str, Any]]:
        """Return what POST /<what>/filter finds."""
        found: list[dict[str, Any]] = self._ask(f"{what}/filter", json.dumps(question).encode())
        return found

    def _ask(self, path: str, data: bytes | None = None) -> Any:
        import base64

        headers = {"content-type": "application/json"}
        if self.auth:
            headers["authorization"] = "Basic " + base64.b64encode(self.auth.encode()).decode()
        if data is not None:
            with suppress(urllib.error.HTTPError):  # a server without such tokens
                token = self._ask("csrf-token?client=test")["token"]
                headers |= {"Prefect-Csrf-Client": "test", "Prefect-Csrf-Token": token}
        request = urllib.request.Request(f"{self.url}/{path}", data, headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def run(self, name: str) -> dict[str, Any]:
        """Return the flow run of that name."""
        return self.find("flow_runs", flow_runs={"name": {"any_": [name]}})[0]

    def ended_run(self, name: str) -> dict[str, Any] | None:
        """Return the flow run of that name once it has ended."""
        run = self.run(name)
        return run if run["state_type"] in ENDED else None


ENDED = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


def prefect(folder: Path, env: dict[str, str], *arguments: str) -> str:
    """Return what a ``prefect`` command prints."""
    done = subprocess.run(
        [str(BIN / "prefect"), *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def created_run(printed: str) -> str:
    """Return the name of the run that ``prefect deployment run`` says it created."""
    return printed.split("Created flow run '")[1].split("'")[0]
