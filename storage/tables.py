"""Every table, view and column of the index, as the files of ``sql/`` declare them.

Those files are the only declaration. The index, its comments, ``deaps schema``, the documentation,
the columns of window files and those of ``windows_with_signal`` follow from them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

COHORT_TABLES = (
    "subjects", "usable_windows", "stage_by_recording", "events_by_recording", "nights",
)  # fmt: skip
"""Tables and views with variables of the cohorts' own tables."""
_COHORT_COLUMN = "Variable of the cohort's own table, which the setting cohort.columns names."
_VISIT_NAME = "What the table of your own folder calls the visit."


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its type in DuckDB, and what it means.

    ``origin`` is ``file``, ``recording`` or ``scoring`` for a column of ``windows``, else empty.
    A ``required`` column is never NULL.
    """

    name: str
    type: str
    meaning: str
    origin: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table or a view. A view has only those columns that mean something else there."""

    name: str
    meaning: str
    columns: dict[str, Column] = field(default_factory=dict)


@cache
def tables() -> dict[str, Table]:
    """Return all tables and views by name, in the order of the files."""
    text = tables_sql()
    found: dict[str, Table] = {}
    for name, meaning, notes, body in _BLOCK.findall(text):
        columns = [*_columns(body), *_noted_columns(notes)]
        found[name] = Table(name, meaning, {column.name: column for column in columns})
    return found


def window_columns(*origins: str) -> list[Column]:
    """Return the columns of ``windows`` of some origins, in order."""
    return [column for column in tables()["windows"].columns.values() if column.origin in origins]


def enum_cast(column: Column) -> str:
    """Return the cast to an enumeration of the index, which other databases know as text."""
    return f"::{column.type}" if column.type.islower() else ""


def describe_column(table: str, column: str) -> str | None:
    """Return what a column means, None if nothing is written of it."""
    own = tables().get(table)
    for each in (own, tables()["windows"], tables()["recordings"], *tables().values()):
        if each is not None and column in each.columns:
            return each.columns[column].meaning
    if table not in COHORT_TABLES:
        return None
    return _VISIT_NAME if column == "visit_name" else _COHORT_COLUMN


def tables_sql() -> str:
    """Return the SQL that creates the tables and views that every index has."""
    return create_tables_sql() + create_views_sql() + beat_views_sql()


def create_tables_sql() -> str:
    """Return the SQL that creates the tables."""
    return _read("tables.sql")


def create_views_sql() -> str:
    """Return the SQL that creates the views that do not depend on what is published."""
    return _read("views.sql")


def beat_views_sql(**places: str) -> str:
    """Return the SQL that creates the views of beats, with ``files`` and ``store`` filled in."""
    text = _read("beats.sql")
    return text.format(**places) if places else text


def _read(name: str) -> str:
    return (resources.files("storage") / "sql" / name).read_text(encoding="utf-8")


# "-- NAME: meaning", then a view's columns "--   COLUMN: meaning", then perhaps the table.
_BLOCK = re.compile(
    r"^-- (\w+): ([^\n]+)\n((?:--   [^\n]+\n)*)(?:CREATE TABLE \w+ \((.*?)^\);)?",
    re.MULTILINE | re.DOTALL,
)
_NOTE = re.compile(r"^--   (\w+): (.+)$", re.MULTILINE)
# "NAME TYPE [NOT NULL][,] -- [origin] meaning", the meaning perhaps over several lines.
_COLUMN = re.compile(
    r"^    (\w+) ([\w\[\]]+)( NOT NULL)?,? +-- (?:\[(.*?)\] )?(.+(?:\n +-- .+)*)$", re.MULTILINE
)


def _columns(body: str) -> list[Column]:
    columns = []
    for name, type_, not_null, origin, meaning in _COLUMN.findall(body):
        origin, _, remark = origin.partition(", ")
        text = re.sub(r"\s*\n\s*-- ", " ", meaning)
        columns.append(Column(name, type_, text, origin, bool(not_null or remark == "required")))
    return columns


def _noted_columns(notes: str) -> list[Column]:
    return [Column(name, "", meaning) for name, meaning in _NOTE.findall(notes)]
