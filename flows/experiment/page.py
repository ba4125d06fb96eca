"""The page of an evaluation: written from its document, wherever that is."""

from __future__ import annotations

from pathlib import Path

from deaps.evaluation.document import EVALUATION_NAME, PAGE_NAME, read_evaluation
from flows.monitoring.event_log import EventLog
from storage.errors import DeapsError
from storage.files import REPORTS_FOLDER


class NoEvaluationError(DeapsError):
    """There is no evaluation to write a report of."""


def write_page(folder: Path) -> Path:
    """Write the report of the evaluation in ``folder`` if it is not there; return the page."""
    page = folder / PAGE_NAME
    if not page.exists():
        from deaps.report import write_report

        with EventLog(folder.parents[1]).stage("report", report=folder.name):
            write_report(read_evaluation(folder), folder)
    return page.resolve()


def rewrite_page(folder: Path) -> Path:
    """Write the report anew, such as after a change of its looks."""
    (folder / PAGE_NAME).unlink(missing_ok=True)
    return write_page(folder)


def find_evaluation(store: Path, name: str | None) -> Path:
    """Return the folder of the evaluation of that name, by default the newest."""
    reports = store / REPORTS_FOLDER
    evaluations = sorted(
        (path.stat().st_mtime_ns, path.parent) for path in reports.glob(f"*/{EVALUATION_NAME}")
    )
    if name is not None:
        evaluations = [(when, folder) for when, folder in evaluations if folder.name == name]
    if not evaluations:
        what = f"no evaluation {name!r}" if name else "no evaluation"
        raise NoEvaluationError(f"{what} in {reports}; run deaps evaluate")
    return evaluations[-1][1]
