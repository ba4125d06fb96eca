"""A laboratory's Prefect server with pools, deployments and workers, as processes of a test."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.flows.prefect_processes import (
    BIN,
    PATIENCE_S,
    Api,
    created_run,
    free_port,
    prefect,
    running,
    wait_for,
)
from tests.flows.tiny_project import environment, make_project

POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
AUTH = "admin:a-password-of-this-test"


@contextmanager
def database(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the settings of a fresh PostgreSQL, of SQLite where there is none."""
    if not POSTGRES:
        print("no PostgreSQL here: SQLite instead")
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="deaps-pg-") as made:
        yield from _postgres(folder, Path(made))


def _postgres(folder: Path, home: Path) -> Iterator[dict[str, str]]:
    """Yield the settings of a PostgreSQL whose data lie in ``home``.

    Not in pytest's folder: another pytest that starts meanwhile takes it from other users.
    """
    data, port, bin_ = home / "pg", free_port(), POSTGRES[-1].parent
    data.mkdir()
    user = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(data, "postgres", "postgres")
        home.chmod(0o711)
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    subprocess.run(
        [*user, bin_ / "initdb", "-D", data, "-U", "deaps", "-A", "trust"],
        check=True, capture_output=True,
    )  # fmt: skip
    command = [*user, str(bin_ / "postgres"), "-D", str(data), "-p", str(port), "-k", str(data),
               "-c", "listen_addresses=127.0.0.1"]  # fmt: skip
    with running(command, folder, environment(), "postgres"):
        ready = [bin_ / "pg_isready", "-h", "127.0.0.1", "-p", str(port)]
        wait_for(lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0)
        url = f"postgresql+asyncpg://deaps@127.0.0.1:{port}/postgres"
        yield {"PREFECT_SERVER_DATABASE_CONNECTION_URL": url}


@dataclass(frozen=True)
class Lab:
    """A server with its pools and deployments, and the folder from which it is used."""

    folder: Path
    api: Api
    client: dict[str, str]

    def start(self, deployment: str, *parameters: str) -> str:
        """Ask for a run and return its name."""
        given = [word for parameter in parameters for word in ("--param", parameter)]
        return created_run(
            prefect(self.folder, self.client, "deployment", "run", deployment, *given)
        )

    def ended(self, name: str, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        run: dict[str, Any] = wait_for(lambda: self.api.ended_run(name), patience_s)
        return run

    def worker(
        self, pool: str, name: str | None = None, **env: str
    ) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start a worker that takes one run at a time, until the block ends."""
        name = name or pool
        command = [str(BIN / "prefect"), "worker", "start", "--pool", pool, "--name", name]
        return running([*command, "--limit", "1"], self.folder, self.client | env, name)

    def log(self, name: str) -> str:
        """Return what a process has printed."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def online(self, pool: str) -> list[str]:
        """Return the names of a pool's live workers."""
        return [w["name"] for w in self.api.find(f"work_pools/{pool}/workers")
                if w["status"] == "ONLINE"]  # fmt: skip


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """Yield a laboratory's server with a password, on PostgreSQL where there is one."""
    project, port = make_project(folder / "project"), free_port()
    api = Api(port, AUTH)
    client = environment(
        PREFECT_API_URL=api.url, PREFECT_API_AUTH_STRING=AUTH, PREFECT_WORKER_QUERY_SECONDS="2"
    )
    with database(folder) as settings:
        server = environment(**settings, PREFECT_SERVER_API_AUTH_STRING=AUTH)
        command = [str(BIN / "prefect"), "server", "start", "--host=127.0.0.1", f"--port={port}"]
        with running(command, project, server, "server"):
            wait_for(api.healthy)
            command = [str(BIN / "deaps"), "deploy"]
            subprocess.run(command, cwd=project, env=client, check=True, capture_output=True)
            yield Lab(project, api, client)
