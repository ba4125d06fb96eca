"""The whole pipeline: scan, preprocess, train, embed, benchmark, report."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from flows.config import Settings
from flows.evaluate import evaluate_all, link_report
from flows.experiment.plan import plan_experiment
from flows.experiment.provenance import Stopwatch
from flows.experiment.state import load_state
from flows.ingest.demo_data import ensure_demo_data
from flows.ingest.refresh import refresh_store
from flows.ingest.scan import scan
from flows.monitoring.event_log import EventLog
from flows.monitoring.stage_events import log_unchanged
from flows.report import write_page
from flows.runtime.flow_start import FALLBACK_PRESET, command_line, handed_scan, start_flow
from flows.train import train_plans


@flow(name="deaps-pipeline")
def pipeline(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
) -> str:
    """Take the data sets to a report; what is done already is not done again."""
    settings, preset = start_flow(preset, config, overrides)
    command = command_line("run", preset, config, overrides)
    page = run_pipeline(settings, command=command, is_demo=preset == FALLBACK_PRESET)
    link_report(settings, page)
    return str(page)


def run_pipeline(settings: Settings, *, command: str = "deaps run", is_demo: bool = False) -> Path:
    """Run every stage that has something to do and return the report's page."""
    watch = Stopwatch()
    if is_demo:
        ensure_demo_data(settings)
    with watch.stage("preprocess"):
        scanned = handed_scan() or scan(settings)
        if scanned.nothing_to_do:
            log_unchanged(EventLog(settings.store.root), scanned)
        else:
            refresh_store(settings, scanned)
    return train_and_report(settings, watch=watch, command=command)


def train_and_report(
    settings: Settings, *, watch: Stopwatch | None = None, command: str = "deaps run"
) -> Path:
    """Train and evaluate the experiment on the published snapshot; return the report's page."""
    watch = watch or Stopwatch()
    with watch.stage("train"):
        while load_state(settings).missing:  # again if another snapshot was published meanwhile
            train_experiment(settings)
    return write_page(evaluate_all(settings, watch.stages, command))


def train_experiment(settings: Settings) -> None:
    """Train all that the experiment compares."""
    train_plans(settings, [trained.plan for trained in plan_experiment(settings).trained])
