"""The report stage: the page of an evaluation, and a link to it in Prefect's pages."""

from __future__ import annotations

from pathlib import Path

from prefect import flow

from flows.config import Settings
from flows.experiment.page import find_evaluation, write_page
from flows.runtime.artifacts import leave_link
from flows.runtime.flow_start import start_flow
from flows.runtime.report_server import served_reports


@flow(name="deaps-report")
def report(
    name: str | None = None,
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
) -> str:
    """Write the report of an evaluation, by default the newest; return its page."""
    settings, _ = start_flow(preset, config, overrides)
    page = write_page(find_evaluation(settings.store.root, name))
    link_report(settings, page)
    return str(page)


def link_report(settings: Settings, page: Path) -> None:
    """Leave a link to the report in Prefect's pages."""
    served = settings.execution.reports_url or served_reports(settings.store.root)
    leave_link(
        f"{served.rstrip('/')}/{page.parent.name}/{page.name}" if served else page.as_uri(),
        key="report",
        text=f"report {page.parent.name}",
        description=f"On the machine that wrote it: {page}",
    )
