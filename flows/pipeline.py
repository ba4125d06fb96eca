"""The whole pipeline: its stages one after the other, each skipped if it has nothing to do.

Trainings and embeddings run in the pool of GPU machines where there is one (`flows.launch`), all
else in this process.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deaps.evaluation.document import PAGE_NAME
from flows.experiment.provenance import Stopwatch
from flows.experiment.state import load_state
from flows.ingest.demo_data import ensure_demo_data
from flows.ingest.scan import scan
from flows.launch import embed_runs
from flows.monitoring.event_log import EventLog, log_unchanged
from flows.report import link_report, report
from flows.runtime.dask_pool import SharedWorkers
from flows.runtime.prefect_glue import run_stage, skip_stage
from flows.runtime.run_context import DEMO_PRESET, RunContext
from flows.train import raise_failures, train_experiment


def run_pipeline(context: RunContext) -> Path:
    """Take the data sets to a report and return its page; what is done already is not done again.

    Raises
    ------
    DeapsError
        If trainings failed, when the report of the others is written.
    """
    if context.parameters.preset == DEMO_PRESET:
        ensure_demo_data(context.settings)
    context = replace(context, command=context.parameters.command_line("run"))
    watch = Stopwatch()
    with watch.stage("preprocess"):
        _preprocess(context)
    return train_and_report(context, watch)


def train_and_report(context: RunContext, watch: Stopwatch | None = None) -> Path:
    """Train and evaluate the experiment on the published snapshot; return the report's page.

    Raises
    ------
    DeapsError
        If trainings failed, when the report of the others is written.
    """
    watch = watch or Stopwatch()
    with watch.stage("train"):
        failures = train_experiment(context)
    if not load_state(context.settings).runs:
        raise_failures(failures)
    with SharedWorkers() as workers:
        context = replace(context, workers=workers)
        with watch.stage("embed the runs"):
            embed_runs(context)
        folder = _evaluate(replace(context, stages=tuple(watch.stages)))
    page = _write_report(context, folder)
    raise_failures(failures, f" The report of the others: {page}")
    return page


def _preprocess(context: RunContext) -> None:
    """Bring the store up to date with the data sets."""
    scanned = context.scan or scan(context.settings)
    if scanned.nothing_to_do:
        log_unchanged(EventLog(context.settings.store.root), scanned)
        skip_stage("deaps-preprocess", "the store is up to date with the data sets")
        return
    from flows.preprocess import update_store

    updated = replace(context, scan=scanned)
    run_stage(
        "deaps-preprocess",
        lambda: update_store(updated),
        context.parameters.as_dict(),
        run_name="preprocess",
    )


def _evaluate(context: RunContext) -> Path:
    """Evaluate what is trained, unless it is; return the evaluation's folder."""
    state = load_state(context.settings)
    if state.evaluated:
        skip_stage("deaps-evaluate", f"evaluation {state.name} is complete")
        return state.folder
    from flows.evaluate import evaluate

    return run_stage(
        "deaps-evaluate",
        lambda: evaluate(context),
        context.parameters.as_dict(),
        run_name="evaluate",
    )


def _write_report(context: RunContext, folder: Path) -> Path:
    """Write the page of an evaluation, unless it is there, and link it."""
    page = (folder / PAGE_NAME).resolve()
    if page.exists():
        skip_stage("deaps-report", f"{page} is written")
        link_report(context.settings, page)
        return page
    return run_stage(
        "deaps-report",
        lambda: report(context.settings, folder.name),
        {"name": folder.name, **context.parameters.as_dict()},
        run_name="report",
    )
