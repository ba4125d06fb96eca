"""The whole pipeline: its stages are flows of their own, run one after the other.

A stage with nothing to do is shown as skipped. Trainings and embeddings run in the pool of GPU
machines where there is one (`flows.placement`), all else in this process.
"""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from deaps.evaluation.document import PAGE_NAME
from deaps.training.run_folder import Run, create_run
from flows.config import Settings
from flows.experiment.plan import plan_experiment
from flows.experiment.provenance import Stopwatch
from flows.experiment.state import load_state
from flows.ingest.demo_data import ensure_demo_data
from flows.ingest.scan import scan
from flows.monitoring.event_log import EventLog, log_unchanged
from flows.placement import embed_runs, train_runs
from flows.report import link_report, report
from flows.runtime.dask_pool import keeping_workers
from flows.runtime.flow_start import (
    DEMO_PRESET,
    StageParameters,
    command_line,
    hand_over,
    handed_scan,
    start_flow,
)
from flows.runtime.orchestration import call_stage, named, skip_stage
from storage.errors import DeapsError


class IncompleteExperimentError(DeapsError):
    """Some trainings failed; the report is of the others."""


@flow(name="deaps-pipeline")
def pipeline(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
) -> str:
    """Take the data sets to a report; what is done already is not done again."""
    settings, preset = start_flow(preset, config, overrides)
    command = command_line("run", preset, config, overrides)
    parameters = StageParameters(preset, config, overrides)
    is_demo = preset == DEMO_PRESET
    page = run_pipeline(settings, parameters, command=command, is_demo=is_demo)
    link_report(settings, page)
    return str(page)


def run_pipeline(
    settings: Settings,
    parameters: StageParameters,
    *,
    command: str = "deaps run",
    is_demo: bool = False,
) -> Path:
    """Run every stage that has something to do and return the report's page."""
    watch = Stopwatch()
    if is_demo:
        ensure_demo_data(settings)
    with watch.stage("preprocess"):
        refresh(settings, parameters)
    return train_and_report(settings, parameters, watch=watch, command=command)


def refresh(settings: Settings, parameters: StageParameters) -> None:
    """Bring the store up to date with the data sets."""
    scanned = handed_scan() or scan(settings)
    if scanned.nothing_to_do:
        log_unchanged(EventLog(settings.store.root), scanned)
        skip_stage("deaps-preprocess", "the store is up to date with the data sets")
        return
    from flows.preprocess import preprocess

    with hand_over(settings, scanned, is_stage=True):
        call_stage(named(preprocess, "preprocess"), **parameters.as_dict())


def train_and_report(
    settings: Settings,
    parameters: StageParameters,
    *,
    watch: Stopwatch | None = None,
    command: str = "deaps run",
) -> Path:
    """Train and evaluate the experiment on the published snapshot; return the report's page.

    Raises
    ------
    IncompleteExperimentError
        If trainings failed, when the report of the others is written.
    """
    watch = watch or Stopwatch()
    with watch.stage("train"):
        failures = train_experiment(settings, parameters)
    if not load_state(settings).runs:
        raise_failures(failures)
    with keeping_workers():
        with watch.stage("embed the runs"):
            embed_runs(settings, parameters)
        folder = evaluate_runs(settings, parameters, watch, command)
    page = write_report(settings, parameters, folder)
    raise_failures(failures, f" The report of the others: {page}")
    return page


def train_experiment(settings: Settings, parameters: StageParameters) -> dict[str, str]:
    """Train all that the experiment compares; return why trainings failed, by run.

    Again where another snapshot was published meanwhile: its runs are others.

    Raises
    ------
    NoSuchPartError
        If settings name a part of a data set that is not there, before anything is trained.
    """
    failures: dict[str, str] = {}
    if load_state(settings).missing:
        from flows.experiment.inputs import check_experiment

        check_experiment(settings)
    else:
        skip_stage("deaps-train", "every run of the experiment is trained")
    while runs := [run for run in unfinished_runs(settings) if run.name not in failures]:
        failures |= train_runs(settings, parameters, runs)
    return failures


def unfinished_runs(settings: Settings) -> list[Run]:
    """Return the experiment's runs on the published snapshot that are not trained, each once."""
    plans = [trained.plan for trained in plan_experiment(settings).trained]
    runs = {run.name: run for run in (create_run(settings.store.root, plan) for plan in plans)}
    return [run for run in runs.values() if not run.finished]


def evaluate_runs(
    settings: Settings, parameters: StageParameters, watch: Stopwatch, command: str
) -> Path:
    """Evaluate what is trained, unless it is; return the evaluation's folder."""
    state = load_state(settings)
    if state.evaluated:
        skip_stage("deaps-evaluate", f"evaluation {state.name} is complete")
        return state.folder
    from flows.evaluate import evaluate

    with hand_over(settings, is_stage=True, stages=watch.stages, command=command):
        return Path(call_stage(named(evaluate, "evaluate"), **parameters.as_dict()))


def write_report(settings: Settings, parameters: StageParameters, folder: Path) -> Path:
    """Write the page of an evaluation, unless it is there."""
    page = folder / PAGE_NAME
    if page.exists():
        skip_stage("deaps-report", f"{page} is written")
        return page.resolve()
    with hand_over(settings, is_stage=True):
        return Path(call_stage(named(report, "report"), name=folder.name, **parameters.as_dict()))


def raise_failures(failures: dict[str, str], addition: str = "") -> None:
    """Raise IncompleteExperimentError if trainings failed, with the reason of each."""
    if not failures:
        return
    reasons = "; ".join(f"{run}: {why}" for run, why in sorted(failures.items()))
    count = "1 training" if len(failures) == 1 else f"{len(failures)} trainings"
    raise IncompleteExperimentError(
        f"{count} failed ({reasons}). Run it again: it goes on from there.{addition}"
    )
