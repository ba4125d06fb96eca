"""Nothing that a user meets lacks a description in the built site.

That is: every setting, table, view, column, command, argument and option.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import typer

from flows.cli import app
from flows.cli.reference import settings_table
from flows.config import Settings
from preprocessing.synth import DATASETS as SYNTHETIC
from storage.snapshot import open_index
from tests.flows.inline import run, settings_for


class Rows(HTMLParser):
    """Texts of the table rows of a page, by the head above them and their first cell."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.rows: dict[tuple[str, str], list[str]] = {}
        self.heads: list[str] = []
        self._in_head = self._in_cell = False
        self._cells: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "h2":
            self._in_head = True
            self.heads.append("")
        elif tag == "tr":
            self._cells = []
        elif tag == "td":
            self._in_cell = True
            self._cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "h2":
            self._in_head = False
            self.heads[-1] = self.heads[-1].replace("¶", "").strip()
        elif tag == "td":
            self._in_cell = False
        elif tag == "tr" and self._cells:
            cells = [" ".join(cell.split()) for cell in self._cells]
            self.rows[self.heads[-1] if self.heads else "", cells[0]] = cells[1:]

    def handle_data(self, data: str) -> None:
        if self._in_head:
            self.heads[-1] += data
        elif self._in_cell:
            self._cells[-1] += data


def test_every_setting_is_described(site: Path) -> None:
    rows = Rows(site / "configuration.html").rows
    texts = {setting: cells[-1] for (_, setting), cells in rows.items()}
    names = {row.setting for row in settings_table(preset="demo")}
    assert len(names) > 90
    assert sorted(name for name in names if not texts.get(name)) == []


def test_every_section_of_settings_has_a_head_and_a_sentence(site: Path) -> None:
    assert set(Settings.model_fields) <= set(Rows(site / "configuration.html").heads)


def test_every_table_view_and_column_of_a_published_index_is_described(
    site: Path, tmp_path: Path
) -> None:
    root = SYNTHETIC["shhs"].write(tmp_path / "shhs", Settings().synth.model_copy(
        update={"shhs_subjects": 1, "shhs_hours": 0.1}
    ))  # fmt: skip
    run(settings_for(tmp_path / "store", shhs=root))
    with open_index(tmp_path / "store") as index:
        columns = index.execute(
            "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
        ).fetchall()
    rows = Rows(site / "schema.html").rows
    texts = {(head.split(" ")[0], column): cells[-1] for (head, column), cells in rows.items()}
    assert len(columns) > 150
    assert [column for column in columns if not texts.get(column)] == []


def test_every_command_argument_and_option_is_described(site: Path) -> None:
    page = Rows(site / "commands.html")
    group: Any = typer.main.get_command(app)
    assert [f"deaps {name}" for name in group.commands] == page.heads
    missing = [
        f"{name} {parameter.name}"
        for name, command in group.commands.items()
        for parameter in command.params
        if parameter.name != "help" and not _described(page, name, parameter)
    ]
    assert missing == []
    assert [name for name, command in group.commands.items() if not command.help] == []


def _described(page: Rows, command: str, parameter: Any) -> bool:
    name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.name.upper()
    return any(
        head == f"deaps {command}" and (first.split(",")[0].split(" ")[0] == name) and cells[0]
        for (head, first), cells in page.rows.items()
    )
