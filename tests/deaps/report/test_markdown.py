"""The report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from deaps.report.markdown import escaped, markdown_report
from deaps.report.parts import Section, Table, Verbatim
from tests.deaps.report.found_parts import all_parts
from tests.deaps.report.made_evaluation import ABSENT, NOT_RUN


def test_every_figure_of_every_table_is_in_it(sections: Sequence[Section], markdown: str) -> None:
    for part in all_parts(sections):
        if isinstance(part, Table):
            texts = [c.text for body in part.bodies for row in body.rows for c in row.cells]
            assert all(escaped(text) in markdown for text in texts), part.caption


def test_every_line_of_a_table_has_the_same_columns(markdown: str) -> None:
    for block in markdown.split("\n\n"):
        if block.startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_what_was_not_run_and_what_is_absent_is_in_it(markdown: str) -> None:
    assert f"not run: {escaped(NOT_RUN)}" in markdown
    assert all(escaped(one) in markdown for one in ABSENT)


def test_best_method_is_bold_and_marked(markdown: str) -> None:
    assert re.search(r"\| DEAPS \| \*\*\d+\.\d\*\* ★", markdown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b", r"a \| b"),
        ("<script>", "&lt;script>"),
        ("two\nlines", "two lines"),
        ("*bold* `code` [link]", r"\*bold\* \`code\` \[link\]"),
    ],
)
def test_texts_are_shown_as_they_are(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_settings_cannot_end_their_fence() -> None:
    text = markdown_report("t", [Section("s", "S", (Verbatim("settings", "a\n```\nb"),))])
    assert "````\na\n```\nb\n````" in text
