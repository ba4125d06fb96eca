"""The schema of an index as rows, with its descriptions: for comments, screens and pages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from storage.index.descriptions import TABLES, describe_column
from storage.snapshot import sql_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COLUMNS = """
SELECT table_name, column_name, data_type FROM duckdb_columns()
WHERE NOT internal AND database_name = current_database() ORDER BY table_name, column_index
"""
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
_LONGEST_TYPE = 30


class SchemaRow(NamedTuple):
    """One column of one table or view."""

    table: str
    is_view: bool
    column: str
    type: str
    description: str


def schema_rows(connection: DuckDBPyConnection) -> list[SchemaRow]:
    """Return every column of an open index, tables in the order in which people ask for them."""
    views = {name for (name,) in connection.execute(_VIEWS).fetchall()}
    rows = [
        SchemaRow(table, table in views, column, _short(kind), describe_column(table, column) or "")
        for table, column, kind in connection.execute(_COLUMNS).fetchall()
    ]
    order = {name: place for place, name in enumerate(TABLES)}
    return sorted(rows, key=lambda row: order.get(row.table, len(order)))


def write_comments(connection: DuckDBPyConnection) -> None:
    """Write the descriptions into an index, as comments of its tables, views and columns."""
    statements = []
    for (table, is_view), rows in groupby(schema_rows(connection), lambda row: row[:2]):
        kind = "VIEW" if is_view else "TABLE"
        statements.append(f"COMMENT ON {kind} {table} IS {sql_literal(TABLES.get(table, ''))}")
        statements += [
            f'COMMENT ON COLUMN {table}."{row.column}" IS {sql_literal(row.description)}'
            for row in rows
        ]
    # In one transaction: each alone would be written to the disk.
    connection.execute(";\n".join(["BEGIN", *statements, "COMMIT"]))


def empty_schema() -> list[SchemaRow]:
    """Return the schema of an index without recordings, for when none is published."""
    import duckdb

    from storage.index.build import IndexContent, fill_index
    from storage.index.results import RunsAndResults

    with duckdb.connect() as connection:
        fill_index(connection, Path(), IndexContent([], [], RunsAndResults()), {})
        return schema_rows(connection)


def schema_markdown() -> str:
    """Return the schema as Markdown: a heading and a table for each table and view."""
    return "\n".join(_markdown_lines(empty_schema()))


def _markdown_lines(rows: list[SchemaRow]) -> Iterator[str]:
    for (table, is_view), columns in groupby(rows, lambda row: row[:2]):
        yield f"## `{table}`{' (view)' if is_view else ''}\n"
        yield f"{TABLES.get(table, '')}\n"
        yield "| column | type | meaning |\n| --- | --- | --- |"
        for row in columns:
            yield f"| `{row.column}` | {row.type} | {row.description} |"
        yield ""


def _short(kind: str) -> str:
    """Return a type for people: an enumeration's values would fill lines."""
    return kind if len(kind) <= _LONGEST_TYPE else "ENUM" if kind.startswith("ENUM") else kind
