"""The table ``subjects``: columns of the cohorts' own tables, typed, and the view of grades."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from storage.schema import SubjectRow

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

KEYS = ("dataset", "subject", "visit")

GRADES = ("hrqual", "quhr")
"""Variables of SHHS with the technicians' grade of the heart signal, at visit 1 and visit 2."""

_QUALITY_GRADES = """
CREATE VIEW quality_grades AS
WITH counted AS (
    SELECT recording_id, sum(n_windows) AS n_windows,
           coalesce(sum(n_windows) FILTER (quality = 'Unacceptable'), 0) AS n_unacceptable
    FROM window_counts GROUP BY recording_id
)
SELECT r.recording_id, r.dataset, r.name, r.subject, r.visit, {grade} AS grade,
       c.n_windows::BIGINT AS n_windows, n_unacceptable / c.n_windows AS unacceptable_share
FROM counted c JOIN recordings r USING (recording_id)
LEFT JOIN subjects s ON s.dataset = r.dataset AND s.subject = r.subject AND s.visit = r.visit
WHERE {grade} IS NOT NULL AND r.status = 'ok'
ORDER BY r.dataset, r.name
"""

_EVERYONE = """
INSERT INTO subjects BY NAME
SELECT DISTINCT dataset, subject, visit FROM recordings
ANTI JOIN incoming_subjects USING (dataset, subject, visit) ORDER BY ALL
"""


def canonical_subjects(rows: Sequence[SubjectRow]) -> list[SubjectRow]:
    """Return the rows as an index gives them back: in order, all columns, "37.30" as "37.3".

    A row without any value is left out.
    """
    types = _column_types(rows)
    return [
        replace(row, values={name: _canonical(row.values.get(name), types[name]) for name in types})
        for row in sorted(rows, key=attrgetter(*KEYS))
        if any(row.values.values())
    ]


def _canonical(text: str | None, kind: str) -> str:
    convert: Callable[[str], object] = {"BIGINT": int, "DOUBLE": float}.get(kind, str)
    return str(convert(text)) if text else ""


def insert_subjects(connection: DuckDBPyConnection, rows: Sequence[SubjectRow]) -> None:
    """Create ``subjects``: the rows of the tables, and all other subjects of the recordings."""
    import pyarrow as pa

    types = _column_types(rows)
    names = list(types)
    columns = "".join(f', "{name}" {types[name]}' for name in names)
    connection.execute(
        "CREATE TABLE subjects (dataset VARCHAR NOT NULL, subject VARCHAR NOT NULL, "
        f"visit INTEGER NOT NULL{columns})"
    )
    table = {name: pa.array([row.values.get(name) or None for row in rows]) for name in names}
    keys = {
        "dataset": pa.array([row.dataset for row in rows], pa.string()),
        "subject": pa.array([row.subject for row in rows], pa.string()),
        "visit": pa.array([row.visit for row in rows], pa.int32()),
    }
    connection.register("incoming_subjects", pa.table(keys | table))
    typed = ", ".join([*KEYS, *(f'"{name}"::{types[name]} AS "{name}"' for name in names)])
    select = f"SELECT {typed} FROM incoming_subjects ORDER BY dataset, subject, visit"
    connection.execute(f"INSERT INTO subjects BY NAME {select}")
    connection.execute(_EVERYONE)
    connection.unregister("incoming_subjects")


def grade_view_sql(rows: Sequence[SubjectRow]) -> str:
    """Return the statement of the view ``quality_grades``; without a grade it has no rows."""
    present = [name for name in GRADES if name in column_names(rows)]
    grade = ", ".join(f"s.{name}::DOUBLE" for name in present)
    return _QUALITY_GRADES.format(grade=f"coalesce({grade})" if present else "NULL::DOUBLE")


def column_names(rows: Iterable[SubjectRow]) -> list[str]:
    """Return the columns of the tables, in order of their names."""
    return sorted({name for row in rows for name in row.values})


def read_subjects(connection: DuckDBPyConnection) -> list[SubjectRow]:
    """Return the rows of an open index that came from a table."""
    cursor = connection.execute("FROM subjects")
    names = [column[0] for column in cursor.description or ()][len(KEYS) :]
    rows = []
    for dataset, subject, visit, *values in cursor.fetchall():
        texts = ["" if value is None else str(value) for value in values]
        rows.append(SubjectRow(dataset, subject, visit, dict(zip(names, texts, strict=True))))
    return [row for row in rows if any(row.values.values())]


def _column_types(rows: Sequence[SubjectRow]) -> dict[str, str]:
    return {
        name: _type_of([row.values.get(name, "") for row in rows]) for name in column_names(rows)
    }


def _type_of(texts: Iterable[str]) -> str:
    given = [text for text in texts if text]
    if all(_is(int, text) for text in given):
        return "BIGINT"
    return "DOUBLE" if all(_is(float, text) for text in given) else "VARCHAR"


def _is(kind: type[int] | type[float], text: str) -> bool:
    try:
        return abs(kind(text)) < 2**62
    except ValueError:
        return False
