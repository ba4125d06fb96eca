"""Every table, view and column is explained, in the index itself, too."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from storage.index.columns import empty_schema, schema_markdown, schema_rows
from storage.publish import publish
from storage.schema import DatasetRow, SubjectRow
from storage.tables import tables, window_columns
from tests.storage.made_store import make_row, write_recording

COMMENTS = """
SELECT table_name || '.' || column_name FROM duckdb_columns()
WHERE NOT internal AND coalesce(comment, '') = ''
UNION ALL SELECT table_name FROM duckdb_tables() WHERE coalesce(comment, '') = ''
UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = ''
"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("schema") / "store"
    row = write_recording(root, make_row("a"))
    subjects = [SubjectRow(row.dataset, row.subject, row.visit, {"bmi_s1": "27", "hrqual": "3"})]
    publish(root, [row], datasets=[DatasetRow(row.dataset)], settings={}, subjects=subjects)
    return root / "index.duckdb"


def test_nothing_in_a_published_index_lacks_a_comment(index: Path) -> None:
    with duckdb.connect(index, read_only=True) as connection:
        assert connection.execute(COMMENTS).fetchall() == []


def test_a_variable_of_the_cohort_is_explained_as_one(index: Path) -> None:
    with duckdb.connect(index, read_only=True) as connection:
        texts = {(r.table, r.column): r.description for r in schema_rows(connection)}
    assert "cohort.columns" in texts["subjects", "bmi_s1"]
    assert "cohort.columns" in texts["usable_windows", "bmi_s1"]


def test_no_description_is_of_something_that_is_gone() -> None:
    rows = empty_schema()
    present = {(row.table, row.column) for row in rows}
    declared = {(table.name, column) for table in tables().values() for column in table.columns}
    assert declared - present == set()
    assert {row.table for row in rows} == set(tables())


def test_every_column_of_a_table_is_declared_with_its_type() -> None:
    for row in empty_schema():
        if not row.is_view:
            column = tables()[row.table].columns[row.column]
            assert column.meaning == row.description
            assert column.type == row.type or row.type == "ENUM" or row.type.startswith("ENUM(")


def test_windows_with_signal_has_every_column_of_the_files() -> None:
    names = {row.column for row in empty_schema() if row.table == "windows_with_signal"}
    assert {column.name for column in window_columns("file")} <= names


def test_the_page_has_every_table_and_column() -> None:
    page = schema_markdown()
    assert [name for name in tables() if f"## `{name}`" not in page] == []
    assert page.count("\n| `") == len(empty_schema())
