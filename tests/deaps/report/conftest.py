"""The report on the made evaluation, written once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from deaps.evaluation.document import Evaluation
from deaps.report import write_report
from deaps.report.page import report_sections
from deaps.report.parts import Section
from tests.deaps.report.made_evaluation import made_evaluation


@pytest.fixture(scope="package")
def evaluation() -> Evaluation:
    """Return the made evaluation."""
    return made_evaluation()


@pytest.fixture(scope="package")
def sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the sections of its report."""
    return report_sections(evaluation)


@pytest.fixture(scope="package")
def page_path(evaluation: Evaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of its report."""
    return write_report(evaluation, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="package")
def page(page_path: Path) -> str:
    """Return the text of the page."""
    return page_path.read_text(encoding="utf-8")


@pytest.fixture(scope="package")
def markdown(page_path: Path) -> str:
    """Return the report as Markdown."""
    return page_path.with_name("report.md").read_text(encoding="utf-8")
