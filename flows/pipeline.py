"""The whole pipeline: scan, preprocess, train, embed, benchmark, report."""

from __future__ import annotations

from pathlib import Path

from flows.prefect_home import end_stray_servers, prepare_prefect, remember_server

prepare_prefect()

from prefect import flow  # noqa: E402
from prefect.artifacts import create_link_artifact  # noqa: E402

from flows.config import Settings, load_settings  # noqa: E402
from flows.evaluate import evaluate_all  # noqa: E402
from flows.experiment import plan_experiment  # noqa: E402
from flows.interrupt import keep_stopping_at_once  # noqa: E402
from flows.preprocess import bring_up_to_date  # noqa: E402
from flows.report import write_page  # noqa: E402
from flows.scan import scan  # noqa: E402
from flows.stopwatch import Stopwatch  # noqa: E402
from flows.train import train_plans  # noqa: E402


@flow(name="deaps-pipeline")
def pipeline(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
) -> str:
    """Take the data sets to a report; what is done already is not done again."""
    keep_stopping_at_once()
    end_stray_servers()
    remember_server()
    settings = load_settings(
        preset=preset, config=Path(config) if config else None, overrides=overrides or ()
    )
    page = run_pipeline(settings, command=_command(preset))
    create_link_artifact(page.as_uri(), key="report", link_text="the report")
    return str(page)


def run_pipeline(settings: Settings, *, command: str = "deaps run") -> Path:
    """Run every stage that has something to do and return the report's page."""
    watch = Stopwatch()
    with watch.stage("preprocess"):
        if not scan(settings).nothing_to_do:
            bring_up_to_date(settings)
    with watch.stage("train"):
        plans = [trained.plan for trained in plan_experiment(settings).trained]
        train_plans(settings, plans)
    folder = evaluate_all(settings, watch.stages, command)
    return write_page(folder)


def _command(preset: str | None) -> str:
    return f"deaps run --preset {preset}" if preset else "deaps run"
