"""Prefect's surroundings: its settings here, and the servers that killed processes leave."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from storage.atomic import replacing
from storage.errors import DeapsError
from storage.processes import command_words

_NOTES = "embedded-servers"
_SERVER_MARKS = ("prefect.server", "prefect server")
"""Parts of a server's command line, started by Prefect or by us."""


class ServerError(DeapsError):
    """Prefect's server cannot be used or did not start; the message says why."""


def require_server() -> None:
    """Make sure that the server which Prefect is set to use answers and lets us in.

    Where none is set, Prefect starts one of its own.

    Raises
    ------
    ServerError
        If it does not.
    """
    from httpx import HTTPStatusError
    from prefect.client.orchestration import get_client
    from prefect.settings import get_current_settings

    if get_current_settings().api.url is None:
        return
    try:
        with get_client(sync_client=True) as client:
            client.raise_for_api_version_mismatch()
    except HTTPStatusError as error:
        raise ServerError(
            f"Prefect's server answers {error.response.status_code}; set PREFECT_API_AUTH_STRING "
            "to what it has as PREFECT_SERVER_API_AUTH_STRING"
        ) from None
    except RuntimeError as error:
        raise ServerError(
            f"{error}; start Prefect's server, or unset PREFECT_API_URL to run without one"
        ) from None


def remember_server() -> None:
    """Note the pid of this process's embedded server, for the run after a kill."""
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
        server, owner = int(note.name), int(note.read_text())
        if command_words(owner):
            continue
        note.unlink(missing_ok=True)
        command = " ".join(command_words(server))
        if any(mark in command for mark in _SERVER_MARKS):
            os.kill(server, signal.SIGTERM)
            ended.append(server)
    return ended


def prefect_home() -> Path:
    """Return the folder where Prefect keeps its database here."""
    from prefect.settings import get_current_settings

    return Path(get_current_settings().home)


def _notes() -> Path:
    return prefect_home() / _NOTES
