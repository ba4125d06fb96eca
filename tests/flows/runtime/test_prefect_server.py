from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.runtime import prefect_server
from flows.runtime.prefect_server import end_stray_servers, note_server

WAIT = "import sys; sys.stdin.read()"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(prefect_server, "prefect_home", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def gone() -> int:
    """Return the pid of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


@pytest.fixture(params=[["prefect.server.api"], ["prefect", "server", "start"]])
def server(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process whose command line is that of a Prefect server."""
    command = [sys.executable, "-c", WAIT, *request.param]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process


def note(home: Path, server: int, owner: int) -> Path:
    path = home / "embedded-servers" / str(server)
    path.parent.mkdir(exist_ok=True)
    path.write_text(str(owner))
    return path


def test_a_server_whose_owner_is_gone_is_ended(
    home: Path, server: subprocess.Popen[bytes], gone: int
) -> None:
    path = note(home, server.pid, gone)
    assert end_stray_servers() == [server.pid]
    assert server.wait(10) != 0
    assert not path.exists()


def test_the_server_of_a_living_process_stays(server: subprocess.Popen[bytes]) -> None:
    note_server(server.pid)
    assert end_stray_servers() == []
    assert server.poll() is None


def test_a_process_that_is_no_server_stays_and_is_forgotten(home: Path, gone: int) -> None:
    path = note(home, os.getpid(), gone)  # as if this pid had been given to another process
    assert end_stray_servers() == []
    assert not path.exists()


@pytest.mark.parametrize("content", ["", "x", "12 13"])
def test_a_note_of_nobody_is_forgotten(home: Path, content: str) -> None:
    path = note(home, os.getpid(), 0)
    path.write_text(content)
    assert end_stray_servers() == []
    assert not path.exists()


def test_a_note_that_another_command_takes_first_stops_nothing(
    home: Path, server: subprocess.Popen[bytes], gone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [note(home, server.pid, gone), note(home, gone, gone)]
    monkeypatch.setattr(Path, "glob", lambda *_: paths)
    paths[1].unlink()
    assert end_stray_servers() == [server.pid]


def test_a_named_server_that_never_answers_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from prefect.settings import PREFECT_API_URL, temporary_settings

    monkeypatch.setattr(prefect_server, "_ANSWER_S", 0.5)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(5)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api"
        started = time.monotonic()
        with temporary_settings({PREFECT_API_URL: url}):
            problem = prefect_server.server_problem()
    assert problem is not None
    assert problem.startswith("no Prefect server")
    assert time.monotonic() - started < 30
