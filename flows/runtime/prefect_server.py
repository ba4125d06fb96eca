"""Prefect's surroundings: its settings here, and the servers that killed processes leave."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from flows.runtime.local_server import server_environment
from flows.runtime.processes import TiedSubprocess
from flows.runtime.server_address import AUTH_VARIABLE, prefect_home
from storage.errors import DeapsError
from storage.files import replacing
from storage.locks import command_words

if TYPE_CHECKING:
    from prefect.server.api.server import SubprocessASGIServer

_NOTES = "embedded-servers"
_EMBEDDED_LOG = "embedded-server.log"
_SERVER_MARKS = ("prefect.server", "prefect server", "flows.runtime.local_server")
"""Parts of a server's command line, started by Prefect or by us."""

_ANSWER_S = 20.0
"""How long a named server may take to answer the first question; it is asked twice."""

_PORT_TAKEN, _TRIES = 3, 3
"""What a server ends with if another has its port, or if it cannot start at all: Prefect starts
the next one for as long as its time limit allows, and we for so many times."""


class ServerError(DeapsError):
    """Prefect's server cannot be used or did not start; the message says why."""


def require_server() -> None:
    """Make sure that the server which Prefect is set to use answers and lets us in.

    Raises
    ------
    ServerError
        If it does not.
    """
    if problem := _named_server_problem():
        raise ServerError(f"{problem}; start it, or unset PREFECT_API_URL")


def server_problem() -> str | None:
    """Return why no server can be used, None if one answers; one of our own is started.

    Raises
    ------
    ServerError
        If a server answers but does not let us in: the password is for a person to mend.
    """
    from prefect.settings import get_current_settings

    if get_current_settings().api.url is not None:
        return _named_server_problem()
    return _start_embedded()


def _named_server_problem() -> str | None:
    """Return why the server that ``PREFECT_API_URL`` names does not answer, None if it does."""
    from httpx import HTTPStatusError
    from prefect.client.orchestration import get_client
    from prefect.settings import (
        PREFECT_API_REQUEST_TIMEOUT,
        PREFECT_CLIENT_MAX_RETRIES,
        temporary_settings,
    )

    # Prefect would ask a server that never answers for seven minutes.
    patience = {PREFECT_API_REQUEST_TIMEOUT: _ANSWER_S, PREFECT_CLIENT_MAX_RETRIES: 1}
    try:
        with temporary_settings(patience), get_client(sync_client=True) as client:
            client.raise_for_api_version_mismatch()
    except HTTPStatusError as error:
        raise ServerError(
            f"Prefect's server answers {error.response.status_code}; set PREFECT_API_AUTH_STRING "
            "to what it has as PREFECT_SERVER_API_AUTH_STRING"
        ) from None
    except RuntimeError as error:
        return f"no Prefect server: {error}"
    return None


def _start_embedded() -> str | None:
    """Start Prefect's embedded server; return why it did not start, None if it did.

    Prefect waits its whole time limit also for a process that has ended, so we look ourselves.
    """
    from prefect.context import refresh_global_settings_context
    from prefect.server.api import server as server_module
    from prefect.server.api.server import SubprocessASGIServer

    # A password for this run alone: no page, and no other user of the machine, gets in.
    password = f"deaps:{secrets.token_hex(24)}"
    os.environ.update({**server_environment(password), AUTH_VARIABLE: password})
    refresh_global_settings_context()

    # So that no kill of ours leaves it: Prefect starts it with the module that it has imported.
    setattr(server_module, "subprocess", TiedSubprocess())  # noqa: B010 - no name that it exports
    server = SubprocessASGIServer()
    log = prefect_home() / _EMBEDDED_LOG
    with _standard_error_to(log):
        problem = _watch_start(server)
    if problem is None:
        return None
    server.stop()
    return f"Prefect's own server did not start ({problem}; see {log})"


def _watch_start(server: SubprocessASGIServer) -> str | None:
    """Start a server and wait; return why it did not start, None if it did."""
    failures: list[Exception] = []
    starting = threading.Thread(target=_start, args=(server, failures), daemon=True)
    starting.start()
    tried: set[int] = set()
    while starting.is_alive():
        starting.join(0.1)
        if (process := server.server_process) is None:
            continue
        tried.add(process.pid)
        if process.poll() not in (None, _PORT_TAKEN) or len(tried) > _TRIES:
            return "it ended at once"
    return str(failures[0]).partition(".")[0] if failures else None


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Let processes that are started inside write their errors to a file, not on our terminal."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ours = os.dup(2)
    with path.open("ab") as stream:
        os.dup2(stream.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(ours, 2)
        os.close(ours)


def _start(server: SubprocessASGIServer, failures: list[Exception]) -> None:
    try:
        server.start()
    except Exception as error:  # whatever keeps Prefect from starting, our work goes on
        failures.append(error)


def remember_server() -> None:
    """Note the pid of this process's embedded server, for the run after a kill."""
    if "prefect.server.api.server" not in sys.modules:  # importing it takes seconds
        return
    from prefect.server.api.server import SubprocessASGIServer

    process = SubprocessASGIServer().server_process
    if process is not None:
        note_server(process.pid)


def note_server(pid: int) -> None:
    """Note that a server belongs to this process."""
    note = _notes() / str(pid)
    note.parent.mkdir(parents=True, exist_ok=True)
    with replacing(note) as temporary:  # half a note would name another owner
        temporary.write_text(str(os.getpid()))


def end_stray_servers() -> list[int]:
    """End the servers whose processes are gone, and return their pids.

    Only processes that this project noted, and only while they still are such servers.
    """
    ended = []
    for note in _notes().glob("[0-9]*"):
        # Another command that starts now may take the note, or end the server, before us.
        with suppress(FileNotFoundError, ProcessLookupError):
            server, owner = int(note.name), _owner(note)
            if owner is not None and command_words(owner):
                continue
            note.unlink()
            if owner is not None and _is_server(server):
                os.kill(server, signal.SIGTERM)
                ended.append(server)
    return ended


def _owner(note: Path) -> int | None:
    """Return the pid in a note; None if it holds none, as after a loss of power."""
    text = note.read_text(encoding="ascii", errors="replace").strip()
    return int(text) if text.isdecimal() else None


def _is_server(pid: int) -> bool:
    command = " ".join(command_words(pid))
    return any(mark in command for mark in _SERVER_MARKS)


def _notes() -> Path:
    return prefect_home() / _NOTES
