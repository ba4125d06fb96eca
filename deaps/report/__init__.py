"""The report on one evaluation: a page that stands alone, and the same figures as Markdown."""

from __future__ import annotations

from deaps.report.writing import MARKDOWN_NAME, write_report

__all__ = ["MARKDOWN_NAME", "write_report"]
