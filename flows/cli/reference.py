"""Commands that explain: every setting, and every table and column of the index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.options import (
    AsJson,
    Config,
    Overrides,
    Preset,
    ToParquet,
    announce,
    settings_from,
    stop,
)
from flows.runtime.console import echo

if TYPE_CHECKING:
    from flows.settings_table import SettingRow
    from storage.index.columns import SchemaRow

AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print it as Markdown.")]
_SHORTEST_VALUE = 12


def config(
    section: Annotated[
        str | None,
        typer.Argument(
            metavar="SECTION", help="Section, setting, or part of its name (default: all)."
        ),
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    markdown: AsMarkdown = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Print every setting: value, origin, meaning.

    Example: deaps config signal --preset open
    """
    from flows.cli.output import write_rows
    from flows.settings_table import settings_markdown, settings_table

    if markdown:
        echo(settings_markdown())
        return
    announce(settings_from(preset, config, overrides, quiet=True), preset, config, overrides)
    rows = settings_table(preset=preset, config=config, overrides=overrides or ())
    chosen = _asked_for(rows, section)
    if not chosen:
        sections = dict.fromkeys(row.setting.partition(".")[0] for row in rows)
        stop(f"no setting with {section!r} in its name; sections are {', '.join(sections)}")
    if not write_rows([row._asdict() for row in chosen], json=json, parquet=parquet):
        for line in _setting_lines(chosen):
            echo(line)


def _asked_for(rows: Sequence[SettingRow], part: str | None) -> list[SettingRow]:
    """Return the settings of a section, the one of that name, or those with that in their names."""
    if part is None:
        return list(rows)
    within = [row for row in rows if f"{row.setting}.".startswith(f"{part}.")]
    return within or [row for row in rows if part in row.setting]


def _setting_lines(rows: Sequence[SettingRow]) -> Iterator[str]:
    from flows.runtime.console import screen_width

    for row in rows:
        room = max(_SHORTEST_VALUE, screen_width() - len(f"{row.setting} =   [{row.origin}]"))
        value = row.value or "(not set)"
        shown = value if len(value) <= room else f"{value[: room - 3]}..."
        yield f"{row.setting} = {shown}  [{row.origin}]"
        yield from _folded(row.description)


def schema(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Table, view, or part of a column's name.")
    ] = None,
    preset: Preset = None,
    config: Config = None,
    overrides: Overrides = None,
    markdown: AsMarkdown = False,
    json: AsJson = False,
    parquet: ToParquet = None,
) -> None:
    """Explain every table, view and column of the index.

    Example: deaps schema windows
    """
    from flows.cli.output import write_rows
    from storage.index.columns import schema_markdown

    if markdown:
        echo(schema_markdown())
        return
    rows = _schema(settings_from(preset, config, overrides).store.root)
    tables = dict.fromkeys(row.table for row in rows)
    chosen = [row for row in rows if table in (None, row.table)]
    chosen = chosen or [row for row in rows if table is not None and table in row.column]
    if not chosen:
        stop(f"no table or column {table!r}; tables and views are {', '.join(tables)}")
    if write_rows([row._asdict() for row in chosen], json=json, parquet=parquet):
        return
    for line in _table_lines(rows) if table is None else _column_lines(chosen):
        echo(line)


def _schema(root: Path) -> list[SchemaRow]:
    """Return the schema of the published index, or of an empty one if there is none."""
    from storage.index.columns import empty_schema, schema_rows
    from storage.snapshot import IndexMissingError, open_index

    try:
        with open_index(root) as index:
            return schema_rows(index)
    except IndexMissingError:
        echo("nothing is published yet: this is what an index has", err=True)
        return empty_schema()


def _table_lines(rows: Sequence[SchemaRow]) -> Iterator[str]:
    from storage.index.columns import TABLES

    for (table, is_view), columns in groupby(rows, lambda row: row[:2]):
        names = [row.column for row in columns]
        yield f"{table}{' (view)' if is_view else ''}: {TABLES.get(table, '')}"
        yield from _folded(", ".join(names))
    yield "one of them, with its columns explained: deaps schema TABLE"


def _column_lines(rows: Sequence[SchemaRow]) -> Iterator[str]:
    from storage.index.columns import TABLES

    for (table, is_view), columns in groupby(rows, lambda row: row[:2]):
        yield f"{table}{' (view)' if is_view else ''}: {TABLES.get(table, '')}"
        for row in columns:
            yield f"  {row.column} ({row.type})"
            yield from _folded(row.description)


def _folded(text: str) -> Iterator[str]:
    """Yield a text in lines that fit a screen, set in by four."""
    import textwrap

    from flows.runtime.console import screen_width

    for line in textwrap.wrap(text, screen_width() - 4):
        yield f"    {line}"
