"""The deployments, and a Prefect server made ready for them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deaps.method_registry import method_names
from flows.runtime.gpu_pool import AUTOMATION, ensure_automation
from flows.runtime.prefect_server import ServerError, require_server
from flows.runtime.server_address import named_server


@dataclass(frozen=True, slots=True)
class Deployment:
    """A flow under a name, ready to be run by ``prefect deployment run FLOW/NAME``."""

    flow: str
    name: str
    entrypoint: str
    """Module and function."""
    pool: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)
    scheduled: bool = False
    """Whether it runs by ``refresh.cron``."""
    limited: bool = True
    """Whether its runs wait for each other; else as many run as workers have room."""


def deployments() -> Iterator[Deployment]:
    """Yield all deployments."""
    yield Deployment(
        "deaps-pipeline",
        "full",
        "flows.pipeline.pipeline",
        "cpu",
        "From data sets to the report; what is done already is kept.",
    )
    yield Deployment(
        "deaps-preprocess",
        "refresh",
        "flows.preprocess.preprocess",
        "cpu",
        "Look at the data sets, preprocess what changed, publish a snapshot.",
        scheduled=True,
    )
    for method in method_names():
        yield Deployment(
            "deaps-train",
            method,
            "flows.train.train",
            "gpu",
            f"Train {method} on the published snapshot.",
            {"methods": [method]},
        )
    yield Deployment(
        "deaps-train",
        "run",
        "flows.train.train",
        "gpu",
        "Train one run that a pipeline has prepared; its own lock keeps it single.",
        limited=False,
    )
    yield Deployment(
        "deaps-embed",
        "run",
        "flows.features.embed",
        "gpu",
        "Embed what the evaluation lacks, for one run or for all.",
        limited=False,
    )
    yield Deployment(
        "deaps-evaluate",
        "all",
        "flows.evaluate.evaluate",
        "cpu",
        "Run every benchmark on every finished run, and write the report.",
    )
    yield Deployment(
        "deaps-report",
        "newest",
        "flows.report.report",
        "cpu",
        "Write the page of the newest evaluation, unless it is there.",
    )


Say = Callable[[str], None]


def deploy(prefect_file: Path, *, say: Say) -> None:
    """Make pools that are not there, apply ``prefect_file``, and make the automation.

    Running it again does no harm.

    Raises
    ------
    ServerError
        If no server is named, or it refuses.
    """
    if named_server() is None:
        raise ServerError("no Prefect server is named; set PREFECT_API_URL to its address")
    require_server()
    if not prefect_file.is_file():
        raise ServerError(f"no {prefect_file}; run it in the project folder, or name the file")
    for pool in sorted({deployment.pool for deployment in deployments()}):
        ensure_pool(pool, say=say)
    _apply(prefect_file)
    ensure_automation()
    say(f"automation: {AUTOMATION}")


def ensure_pool(name: str, *, say: Say) -> None:
    """Make a pool for processes unless it is there; warn of a limit that would block trainings.

    A limit belongs to workers (``--limit 1``): one of the pool would let a single machine work.
    """
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectNotFound

    with get_client(sync_client=True) as client:
        try:
            limit = client.read_work_pool(name).concurrency_limit
        except ObjectNotFound:
            client.create_work_pool(WorkPoolCreate(name=name, type="process"))
            limit = None
    say(f"work pool: {name}")
    if limit is not None:
        say(
            f"warning: the pool {name} has a limit of {limit} runs, however many workers it has; "
            f"remove it with: prefect work-pool clear-concurrency-limit {name}"
        )


def _apply(prefect_file: Path) -> None:
    """Let Prefect read the deployments, from the folder that the flows are to run in."""
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = subprocess.run(
        [*command, "--prefect-file", str(prefect_file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "2000"},  # a line for each message
    )
    if done.returncode:
        *_, reason = (done.stdout + done.stderr).strip().splitlines() or ["no reason given"]
        raise ServerError(f"{prefect_file}: {reason.strip()}")
