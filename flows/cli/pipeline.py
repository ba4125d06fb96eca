"""The commands of the last stages: each is a thin shell over one library call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flows.cli.flow_context import around_flow
from flows.cli.options import Config, Overrides, Preset, settings_from, stop
from flows.config import Settings
from flows.ingest.demo_data import DEMO_DATA, ensure_demo_data


def evaluate(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Run every benchmark on every finished run of the experiment, and write the report.

    Example: deaps evaluate --preset open
    """
    settings = settings_from(preset, config, overrides)
    from flows.experiment.state import look
    from flows.report import write_page

    try:
        state = look(settings)
        state.require_runs()
        if not state.evaluated:
            with around_flow():
                from flows.evaluate import evaluate as evaluate_flow

                evaluate_flow(preset=preset, config=_text(config), overrides=overrides)
    except (OSError, ValueError) as error:
        stop(str(error))
    typer.echo(f"report: {write_page(state.folder)}")


def report(
    name: Annotated[str | None, typer.Argument(help="Evaluation (default: the newest).")] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Write the report of an evaluation: one HTML page, and the same in Markdown.

    Example: deaps report --preset open
    """
    settings = settings_from(preset, config, overrides)
    from flows.report import find_evaluation, rewrite_page

    try:
        page = rewrite_page(find_evaluation(settings, name))
    except (OSError, ValueError) as error:
        stop(str(error))
    typer.echo(f"report: {page}")


def run(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Run the whole pipeline: preprocess, train, benchmark, report; what is done is left alone.

    Example: deaps run --preset open --set data.mitdb=/data/mitdb
    """
    settings = settings_from(preset, config, overrides)
    if preset == "demo" and ensure_demo_data(settings):
        typer.echo(f"wrote a synthetic cohort to {DEMO_DATA}", err=True)
    try:
        page = _finished_page(settings)
        if page is not None:
            typer.echo("nothing to do: data sets, runs and report are up to date")
        else:
            page = _run_flow(preset, config, overrides)
    except (OSError, ValueError) as error:
        stop(str(error))
    typer.echo(f"report: {page}")


def _finished_page(settings: Settings) -> Path | None:
    """Return the report's page if every stage is done."""
    from deaps.evaluation import PAGE_NAME
    from flows.experiment.state import look
    from flows.ingest.scan import scan
    from storage.snapshot import IndexMissingError

    found = scan(settings)
    found.require_data()
    if not found.nothing_to_do:
        return None
    try:
        state = look(settings)
    except IndexMissingError:
        return None
    page = state.folder / PAGE_NAME
    return page if state.evaluated and not state.missing and page.exists() else None


def _run_flow(preset: str | None, config: Path | None, overrides: list[str] | None) -> Path:
    from deaps.train import NonFiniteError

    try:
        with around_flow():
            from flows.pipeline import pipeline

            return Path(pipeline(preset=preset, config=_text(config), overrides=overrides))
    except NonFiniteError as error:
        stop(str(error))


def _text(path: Path | None) -> str | None:
    return str(path) if path else None
