"""The index described: comments in it, `deaps schema`, its page; and the view over window files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from storage.snapshot import sql_literal
from storage.tables import (
    Column,
    beat_views_sql,
    describe_column,
    enum_cast,
    tables,
    window_columns,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_COLUMNS = """
SELECT table_name, column_name, data_type FROM duckdb_columns()
WHERE NOT internal AND database_name = current_database() ORDER BY table_name, column_index
"""
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal"
_LONGEST_TYPE = 30

STORE_VARIABLE = "deaps_store"
"""DuckDB variable with the store's new folder, for the view to use after a move."""
_VIEW = """
CREATE VIEW windows_with_signal AS
SELECT r.recording_id, r.dataset, r.name, r.subject, r.visit, r.sex, r.age, r.label, r.split,
       {columns}, f.beat_offset_s, f.beat_trusted, f.beat_normal, f.signal
FROM {source} f JOIN recordings r ON f.filename = {store} || r.path
WHERE r.status = 'ok'
"""
_NO_FILES = """(
    SELECT NULL::FLOAT[] AS beat_offset_s, NULL::BOOLEAN[] AS beat_trusted,
           NULL::BOOLEAN[] AS beat_normal, NULL::FLOAT[] AS signal, NULL::VARCHAR AS filename, *
    FROM windows LIMIT 0
)"""


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
    order = {name: place for place, name in enumerate(tables())}
    return sorted(rows, key=lambda row: order.get(row.table, len(order)))


def write_comments(connection: DuckDBPyConnection) -> None:
    """Write the descriptions into an index, as comments of its tables, views and columns."""
    statements = []
    for (table, is_view), rows in groupby(schema_rows(connection), lambda row: row[:2]):
        kind = "VIEW" if is_view else "TABLE"
        statements.append(f"COMMENT ON {kind} {table} IS {sql_literal(tables()[table].meaning)}")
        statements += [
            f'COMMENT ON COLUMN {table}."{row.column}" IS {sql_literal(row.description)}'
            for row in rows
        ]
    # In one transaction: each alone would be written to the disk.
    connection.execute(";\n".join(["BEGIN", *statements, "COMMIT"]))


def empty_schema() -> list[SchemaRow]:
    """Return the schema of an index without recordings, for when none is published."""
    import duckdb

    from storage.index.build import IndexContent, RunsAndResults, fill_index

    with duckdb.connect() as connection:
        fill_index(connection, Path(), IndexContent([], [], RunsAndResults()), {})
        return schema_rows(connection)


def schema_markdown() -> str:
    """Return the schema as Markdown: a heading and a table for each table and view."""
    return "\n".join(_markdown_lines(empty_schema()))


def _markdown_lines(rows: list[SchemaRow]) -> Iterator[str]:
    for (table, is_view), columns in groupby(rows, lambda row: row[:2]):
        yield f"## `{table}`{' (view)' if is_view else ''}\n"
        yield f"{tables()[table].meaning}\n"
        yield "| column | type | meaning |\n| --- | --- | --- |"
        for row in columns:
            yield f"| `{row.column}` | {row.type} | {row.description} |"
        yield ""


def _short(kind: str) -> str:
    """Return a type for people: an enumeration's values would fill lines."""
    return kind if len(kind) <= _LONGEST_TYPE else "ENUM" if kind.startswith("ENUM") else kind


def file_views_sql(root: Path, paths: Sequence[str]) -> str:
    """Return the statements of the views over window files, which are named relative to the store.

    The list of files is a constant of the view: DuckDB refuses a subquery there. A condition on
    `recordings` then opens only the files it needs.
    """
    store = _store_expression(root)
    source = _files_expression(store, paths) if paths else _NO_FILES
    columns = ", ".join(_from_file(column) for column in window_columns("file"))
    signal = _VIEW.format(source=source, store=store, columns=columns)
    return f"{signal};\n{beat_views_sql(files=source, store=store)}"


def _from_file(column: Column) -> str:
    """Return a column of a window file as a window has it: enumerations, the recording's rhythm."""
    value = f'f."{column.name}"'
    if column.name == "rhythm":
        value = f"coalesce({value}, r.rhythm)"
    # Window files have text where the index has an enumeration.
    return f'{value}{enum_cast(column)} AS "{column.name}"'


def _store_expression(root: Path) -> str:
    published = f"{root.as_posix().rstrip('/')}/"
    return f"coalesce(rtrim(getvariable('{STORE_VARIABLE}'), '/') || '/', {sql_literal(published)})"


def _files_expression(store: str, paths: Sequence[str]) -> str:
    files = ", ".join(sql_literal(path) for path in paths)
    # A folder named like "site=3" would otherwise become a column of its own.
    return (
        f"read_parquet(list_transform([{files}], lambda f: {store} || f), "
        "filename = true, hive_partitioning = false, union_by_name = false)"
    )
