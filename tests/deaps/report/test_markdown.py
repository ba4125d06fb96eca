"""The report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from deaps.report.markdown import escaped, markdown_report
from deaps.report.parts import Cell, Section, Table, Verbatim
from tests.deaps.report.made_evaluation import ABSENT, NOT_RUN
from tests.deaps.report.part_lookup import all_parts


def grid(markdown: str, number: int) -> list[list[str]]:
    """Return the rows of a table, each as the texts of its columns; the head's are left out."""
    block = re.search(rf"^Table {number}\. .*\n\n((?:\|.*\n)+)", markdown, flags=re.MULTILINE)
    assert block, number
    _, _, *lines = block[1].splitlines()
    return [[text.strip() for text in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def shown(cell: Cell) -> str:
    """Return what a cell should look like, written apart from the code under test."""
    text = f"**{escaped(cell.text)}** ★" if cell.best else escaped(cell.text)
    return " ".join(filter(None, [text, escaped(cell.note)]))


def test_every_cell_of_every_table_is_in_its_row_and_column(
    sections: Sequence[Section], markdown: str
) -> None:
    tables = [part for part in all_parts(sections) if isinstance(part, Table)]
    assert len(tables) > 20
    for table in tables:
        rows = [row for body in table.bodies for row in body.rows]
        written = grid(markdown, table.number)
        assert [line[0] for line in written] == [escaped(row.head) for row in rows]
        for row, line in zip(rows, written, strict=True):
            assert len(line) == 1 + table.width
            expected = [shown(cell) for cell in row.cells]
            assert line[1 : 1 + len(expected)] == expected


def test_what_was_not_run_and_what_is_absent_is_in_it(markdown: str) -> None:
    assert f"not run: {escaped(NOT_RUN)}" in markdown
    assert all(escaped(reason) in markdown for reason in ABSENT)


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
