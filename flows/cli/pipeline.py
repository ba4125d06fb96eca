"""Commands of the whole pipeline and its last stages: each is a thin shell over one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import Config, Overrides, Preset, run_as_flow, run_context, settings_from
from flows.ingest.demo_data import DEMO_DATA, ensure_demo_data
from flows.runtime.console import echo

if TYPE_CHECKING:
    from flows.config import Settings
    from flows.ingest.scan import Scan
    from flows.runtime.run_context import RunContext

_PREFECT_PORT = 4200
_REPORTS_PORT = 4201
PREFECT_FILE = Path("prefect.yaml")


def run(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Run every stage that has something to do, up to the report.

    The stages are preprocess, train, evaluate and report. It keeps what is
    already done.

    Example: deaps run --preset open --set data.mitdb=/data/mitdb
    """
    from flows.ingest.scan import scan

    settings = settings_from(preset, config, overrides)
    if preset == "demo":
        from flows.runtime.processes import stop_at_once

        with stop_at_once():
            if ensure_demo_data(settings):
                echo(f"wrote a synthetic cohort to {DEMO_DATA}", err=True)
    scanned = scan(settings)
    scanned.require_data()
    if page := _finished_page(settings, scanned):
        echo("nothing to do: data sets, runs and report are up to date")
    else:
        from flows.pipeline import run_pipeline

        context = run_context(preset, config, overrides, settings, scanned)
        page = run_as_flow("deaps-pipeline", run_pipeline, context)
    _print_report(page)


def evaluate(
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Store predictions only; compute no metric.")
    ] = False,
) -> None:
    """Run every benchmark on every finished run; write the report.

    Example: deaps evaluate --preset open
    """
    from flows.experiment.state import load_state, write_page

    settings = settings_from(preset, config, overrides)
    state = load_state(settings)
    state.require_runs()
    if blind or not state.evaluated:
        from flows.evaluate import answer_blindly, evaluate_and_report

        context = run_context(preset, config, overrides, settings)
        body: Callable[[RunContext], object] = answer_blindly if blind else evaluate_and_report
        run_as_flow("deaps-evaluate", body, context, blind=blind)
    if blind:
        echo(f"answers of {len(state.runs)} runs are kept: {settings.store.root}")
    else:
        _print_report(write_page(state.folder))


def report(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Evaluation (default: the newest).")
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Write the report of an evaluation, as HTML and Markdown.

    Example: deaps report --preset open
    """
    from flows.experiment.state import find_evaluation, rewrite_page

    settings = settings_from(preset, config, overrides)
    _print_report(rewrite_page(find_evaluation(settings.store.root, name)))


def _print_report(page: Path) -> None:
    """Print where the report is, and that its data are synthetic if they are."""
    from deaps.evaluation.document import read_evaluation
    from deaps.report.results import dataset_label

    echo(f"report: {page}")
    evaluation = read_evaluation(page.parent)
    if names := [dataset_label(evaluation, name) for name in evaluation.synthetic]:
        echo(f"synthetic data, no person was recorded: {', '.join(names)}")


def serve(
    port: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Port of Prefect's pages; if it is taken, a free one."),
    ] = _PREFECT_PORT,
    reports_port: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Port of the reports; if it is taken, a free one."),
    ] = _REPORTS_PORT,
    preset: Preset = None,
    config: Config = None,
) -> None:
    """Offer every deployment to Prefect and run schedules.

    Until you stop it, "prefect deployment run" works in this folder. It also
    serves the store's reports, on this machine alone.

    Example: deaps serve --port 4200
    """
    from flows.serve import serve as serve_deployments

    settings = settings_from(preset, config, None)
    serve_deployments(
        settings.refresh,
        port=port,
        store=settings.store.root,
        reports_port=reports_port,
        notify=lambda text: echo(text, err=True),
        parameters=flow_parameters(preset, config),
    )


def deploy(
    file: Annotated[
        Path, typer.Option(metavar="FILE", help="Prefect's file of deployments.")
    ] = PREFECT_FILE,
) -> None:
    """Make a Prefect server ready: pools and deployments.

    It also lets the server end runs that no longer respond. PREFECT_API_URL
    names the server. You can run it again at any time.

    Example: deaps deploy
    """
    from flows.deployments import deploy as make_ready

    make_ready(file, notify=lambda text: echo(text, err=True))


def flow_parameters(preset: str | None, config: Path | None) -> dict[str, str]:
    """Return the parameters of every flow that is served; flows run in this folder, too."""
    values = {"preset": preset, "config": str(config.resolve()) if config else None}
    return {name: value for name, value in values.items() if value}


def _finished_page(settings: Settings, scanned: Scan) -> Path | None:
    """Return the report's page if every stage is done."""
    from deaps.evaluation.document import PAGE_NAME
    from flows.experiment.state import load_state

    if not scanned.nothing_to_do:
        return None
    state = load_state(settings)
    page = state.folder / PAGE_NAME
    return page if state.evaluated and not state.missing and page.exists() else None
