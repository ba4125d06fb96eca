"""One machine: a Prefect server of its own, every deployment, runs one after the other."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flows.config import RefreshSettings
from flows.report import serving_reports
from flows.runtime.gpu_pool import ensure_automation
from flows.runtime.local_server import HOST, server_environment
from flows.runtime.prefect_glue import require_server
from flows.runtime.processes import tied_command
from flows.runtime.server_address import (
    AUTH_VARIABLE,
    URL_VARIABLE,
    named_server,
    own_password,
    password_file,
    prefect_home,
    publish_server,
    registered_serve,
)
from storage.errors import DeapsError

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

    from flows.deployments import Deployment

SERVER_AUTH_VARIABLE = "PREFECT_SERVER_API_AUTH_STRING"
_START_S = 120
_STOP_S = 15
_PORT_S = 5
"""How long the server of a killed owner may take to end."""

Notify = Callable[[str], None]


def serve(
    refresh: RefreshSettings,
    *,
    port: int,
    notify: Notify,
    store: Path,
    reports_port: int,
    parameters: Mapping[str, str] | None = None,
) -> None:
    """Offer every deployment until SIGTERM or Ctrl-C; queued runs are kept for the next time.

    A server that Prefect's settings name is used; else one is started here, because only a
    whole server creates the runs of a schedule. ``parameters`` are those of every flow: preset
    and config. The reports of ``store`` are served on ``reports_port``, for this machine alone.

    Raises
    ------
    DeapsError
        If another one runs in this folder.
    """
    # A terminal that is closed ends us as SIGTERM does, not without cleaning up.
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    with (
        registered_serve(),
        _server(port, notify),
        serving_reports(store, reports_port) as reports,
    ):
        notify(f"reports: {reports}")
        from prefect import serve as serve_prefect

        from flows.deployments import deployments

        offered = []
        for deployment in deployments():
            offered.append(_to_prefect(deployment, refresh, parameters or {}))
            notify(f"offering {deployment.full_name}")
        ensure_automation()
        # Prefect's own handler of SIGTERM forgets to await this.
        warnings.filterwarnings("ignore", "coroutine 'Runner.astop' was never", RuntimeWarning)
        # One run at a time: on one machine two would only share its cores and wait for locks.
        serve_prefect(*offered, limit=1, print_starting_message=False, pause_on_shutdown=False)


def _to_prefect(
    deployment: Deployment, refresh: RefreshSettings, parameters: Mapping[str, str]
) -> RunnerDeployment:
    from prefect.types.entrypoint import EntrypointType

    offered: RunnerDeployment = deployment.flow.to_deployment(  # type: ignore[assignment]
        name=deployment.name,
        parameters={**parameters, **deployment.parameters},
        description=deployment.description,
        cron=refresh.cron if deployment.scheduled else None,
        entrypoint_type=EntrypointType.MODULE_PATH,
    )
    return offered


@contextmanager
def _server(port: int, notify: Notify) -> Iterator[None]:
    """Run a Prefect server in a process, unless one is named already."""
    from prefect.context import refresh_global_settings_context

    if url := named_server():
        require_server()
        notify(f"using the Prefect server at {url}")
        yield
        return
    port = port if _becomes_free(port) else _free_port()
    address = f"http://{HOST}:{port}"
    set_by_user = os.environ.get(SERVER_AUTH_VARIABLE)
    password = set_by_user or own_password()
    log = prefect_home() / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            tied_command([sys.executable, "-m", "flows.runtime.local_server", str(port)]),
            stdout=stream,
            stderr=stream,
            env={**os.environ, **server_environment(password)},
            # Ctrl-C is for us alone: the server has to outlive the runs that report to it.
            process_group=0,
        )
    try:
        _wait_until_healthy(process, f"{address}/api/health", log)
        ours = {URL_VARIABLE: f"{address}/api", AUTH_VARIABLE: password}
        os.environ.update(ours)
        # Prefect has read its settings at import; it would start a second server for us.
        refresh_global_settings_context()
        publish_server(address, password)
        where = SERVER_AUTH_VARIABLE if set_by_user else password_file()
        notify(f"Prefect's pages: {address} (the password is in {where})")
        yield
    finally:
        for name in (URL_VARIABLE, AUTH_VARIABLE):
            os.environ.pop(name, None)
        _end(process)


def _wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            printed = log.read_text(errors="replace").strip()[-500:]
            raise DeapsError(f"the Prefect server ended at once: {printed}")
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310 - our own http address
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise DeapsError(f"the Prefect server did not answer within {_START_S} s; see {log}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _becomes_free(port: int) -> bool:
    """Return whether a port is free, or is as soon as a killed owner's server has ended."""
    deadline = time.monotonic() + _PORT_S
    while not _is_free(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) != 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
