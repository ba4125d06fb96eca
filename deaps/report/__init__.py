"""The report on one evaluation: a page that stands alone, the same as Markdown, and as CSV."""

from __future__ import annotations

from pathlib import Path

from deaps.evaluation.document import PAGE_NAME, Evaluation
from deaps.report.markdown import TABLES_FOLDER, flat_tables, markdown_report
from deaps.report.page import html_page, report_sections
from deaps.report.results import report_title, synthetic_banner
from storage.files import replacing

__all__ = ["MARKDOWN_NAME", "write_report"]

MARKDOWN_NAME = "report.md"


def write_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write page, Markdown and flat tables into ``folder`` and return the path of the page.

    The same evaluation always gives the same bytes. The page is written last: if it exists, the
    report is whole.
    """
    sections = report_sections(evaluation)
    title, banner = report_title(evaluation), synthetic_banner(evaluation)
    _write(folder / MARKDOWN_NAME, markdown_report(title, sections, banner=banner))
    (folder / TABLES_FOLDER).mkdir(exist_ok=True)
    for name, text in flat_tables(evaluation).items():
        _write(folder / TABLES_FOLDER / name, text)
    page = folder / PAGE_NAME
    _write(page, html_page(title, sections, banner=banner))
    return page


def _write(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
