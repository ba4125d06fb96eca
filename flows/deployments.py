"""What Prefect can run: six flows, and the deployments of them, declared once.

A flow has parameters that are JSON (where settings come from), and calls the plain function of its
stage. ``python -m flows.deployments`` prints ``prefect.yaml``, which is this table for
``prefect deploy --all``; ``deaps serve`` offers the table itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect import Flow, flow

from deaps.config import MethodName
from deaps.method_registry import method_names
from deaps.training.run_folder import open_run
from flows.config import RefreshSettings
from flows.experiment.jobs import RunAddress, settings_at
from flows.launch import EMBED_DEPLOYMENT, TRAIN_DEPLOYMENT, train_run
from flows.pipeline import run_pipeline
from flows.runtime.gpu_pool import AUTOMATION, ensure_automation
from flows.runtime.prefect_glue import require_server
from flows.runtime.run_context import RunContext, load_context
from flows.runtime.server_address import named_server
from storage.errors import DeapsError
from storage.files import RUNS_FOLDER

# Stages are imported where they run: together they take seconds to import.


@flow(name="deaps-pipeline")
def pipeline(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
) -> str:
    """Take the data sets to a report; what is done already is not done again."""
    return str(run_pipeline(load_context(preset, config, overrides)))


@flow(name="deaps-preprocess")
def preprocess(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    only: list[str] | None = None,
    verify: bool = False,
) -> str:
    """Bring the store up to date with the data sets; return the snapshot that is published."""
    from flows.preprocess import preprocess as run

    context = load_context(preset, config, overrides)
    return run(context, only=only or (), verify=verify).snapshot.snapshot_id


@flow(name="deaps-train")
def train(
    methods: list[MethodName] | None = None,
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    run: RunAddress | None = None,
) -> list[str]:
    """Train methods on the published snapshot, DEAPS by default; return the runs' names.

    With ``run`` train that run alone, which a pipeline has prepared.
    """
    from flows.train import train_methods

    context = load_context(preset, config, overrides)
    if run is None:
        return train_methods(context, methods or ())
    context = _at(context, run)
    train_run(open_run(context.settings.store.root / RUNS_FOLDER / run.name), context.settings)
    return [run.name]


@flow(name="deaps-embed")
def embed(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    run: RunAddress | None = None,
) -> int:
    """Compute the features that the evaluation of finished runs lacks; return how many files.

    With ``run`` those of that run alone; without, those of every run and baseline.
    """
    from flows.features import embed_features

    context = load_context(preset, config, overrides)
    return embed_features(context) if run is None else embed_features(_at(context, run), run.name)


@flow(name="deaps-evaluate")
def evaluate(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    blind: bool = False,
) -> str:
    """Run every benchmark on every finished run of the experiment; return the report's page.

    With ``blind`` keep the answers of the runs' probes alone, and return the store's folder.
    """
    from flows.evaluate import answer_blindly, evaluate_and_report

    context = load_context(preset, config, overrides)
    if not blind:
        return str(evaluate_and_report(context))
    answer_blindly(context)
    return str(context.settings.store.root)


@flow(name="deaps-report")
def report(
    name: str | None = None,
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
) -> str:
    """Write the page of an evaluation, by default the newest; return it."""
    from flows.report import report as write

    return str(write(load_context(preset, config, overrides).settings, name))


def _at(context: RunContext, run: RunAddress) -> RunContext:
    """Return the context on the store that a run of another process is in."""
    return context.with_settings(settings_at(context.settings, run))


@dataclass(frozen=True, slots=True)
class Deployment:
    """A flow under a name, ready to be run by ``prefect deployment run FLOW/NAME``."""

    flow: Flow[..., Any]
    name: str
    pool: str
    description: str
    parameters: dict[str, Any] = field(default_factory=dict)
    scheduled: bool = False
    """Whether it runs by ``refresh.cron``."""
    limited: bool = True
    """Whether its runs wait for each other; else as many run as workers have room."""

    @property
    def full_name(self) -> str:
        """What a person types."""
        return f"{self.flow.name}/{self.name}"

    @property
    def entrypoint(self) -> str:
        """Module and function of the flow."""
        return f"{__package__}.deployments.{self.flow.fn.__name__}"


def deployments() -> Iterator[Deployment]:
    """Yield all deployments.

    What a pipeline submits has no limit: it would hold the slot that it waits for, and two GPU
    machines would never train together.
    """
    yield Deployment(
        pipeline, "full", "cpu", "From data sets to the report; what is done already is kept."
    )
    refresh = "Look at the data sets, preprocess what changed, publish a snapshot."
    yield Deployment(preprocess, "refresh", "cpu", refresh, scheduled=True)
    for method in method_names():
        description = f"Train {method} on the published snapshot."
        yield Deployment(train, method, "gpu", description, {"methods": [method]})
    one = "Train one run that a pipeline has prepared; its own lock keeps it single."
    yield Deployment(train, TRAIN_DEPLOYMENT.partition("/")[2], "gpu", one, limited=False)
    lacking = "Embed what the evaluation lacks, for one run or for all."
    yield Deployment(embed, EMBED_DEPLOYMENT.partition("/")[2], "gpu", lacking, limited=False)
    benchmarks = "Run every benchmark on every finished run, and write the report."
    yield Deployment(evaluate, "all", "cpu", benchmarks)
    newest = "Write the page of the newest evaluation, unless it is there."
    yield Deployment(report, "newest", "cpu", newest)


def prefect_yaml() -> str:
    """Return the table as Prefect's file of deployments."""
    import yaml

    return _YAML_HEADER + yaml.safe_dump(
        {"name": "deaps", "deployments": [_as_yaml(each) for each in deployments()]},
        sort_keys=False,
        width=120,
    )


_YAML_HEADER = """\
# Deployments for a Prefect server with workers: `prefect deploy --all` in this folder.
# Made by `python -m flows.deployments > prefect.yaml`; a test compares the two.
"""


def _as_yaml(deployment: Deployment) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": deployment.name,
        "description": deployment.description,
        "entrypoint": deployment.entrypoint,
        "parameters": deployment.parameters,
        "work_pool": {"name": deployment.pool},
    }
    if deployment.limited:
        values["concurrency_limit"] = {"limit": 1, "collision_strategy": "ENQUEUE"}
    if deployment.scheduled:
        values["schedules"] = [{"cron": RefreshSettings().cron}]
    return values


Notify = Callable[[str], None]


def deploy(prefect_file: Path, *, notify: Notify) -> None:
    """Make pools that are not there, apply ``prefect_file``, and make the automation.

    Running it again does no harm.

    Raises
    ------
    DeapsError
        If no server is named, or it refuses.
    """
    if named_server() is None:
        raise DeapsError("no Prefect server is named; set PREFECT_API_URL to its address")
    require_server()
    if not prefect_file.is_file():
        raise DeapsError(f"no {prefect_file}; run it in the project folder, or name the file")
    for pool in sorted({deployment.pool for deployment in deployments()}):
        _ensure_pool(pool, notify=notify)
    _apply(prefect_file)
    ensure_automation()
    notify(f"automation: {AUTOMATION}")


def _ensure_pool(name: str, *, notify: Notify) -> None:
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
    notify(f"work pool: {name}")
    if limit is not None:
        notify(
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
        raise DeapsError(f"{prefect_file}: {reason.strip()}")


if __name__ == "__main__":
    sys.stdout.write(prefect_yaml())
