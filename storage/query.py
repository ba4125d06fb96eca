"""SQL for people: one question at a time, which can read the store and change nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.errors import DeapsError
from storage.index.signal_view import STORE_VARIABLE
from storage.layout import resolve_root
from storage.snapshot import open_index, sql_literal

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

QUESTIONS = {
    "quality": "FROM quality_by_dataset",
    "subject": (
        'SELECT r.dataset, r.name, r.visit, w."row", w.start_s, w.quality, w.rhythm, w.hr_max\n'
        "FROM windows w JOIN recordings r USING (recording_id)\n"
        'WHERE r.subject = $subject ORDER BY r.visit, r.name, w."row"'
    ),
    "cross-visit": "FROM cross_visit_subjects",
    "quarantined": (
        "SELECT dataset, kind, count(*) AS n_recordings\n"
        "FROM quarantined GROUP BY ALL ORDER BY n_recordings DESC, dataset, kind"
    ),
    "rhythm": "FROM rhythm_by_dataset",
    "n3": (
        "SELECT dataset, subject, count(*) AS n_nights, sum(n3_min) AS n3_min\n"
        "FROM stage_by_recording GROUP BY ALL ORDER BY n3_min DESC, dataset, subject"
    ),
    "rem": (
        "SELECT r.dataset, r.visit, count(*) AS n_windows,\n"
        "       count(DISTINCT r.subject) AS n_subjects\n"
        "FROM windows w JOIN recordings r USING (recording_id)\n"
        "WHERE w.stage = 'REM' AND w.quality <> 'Unacceptable'\n"
        "GROUP BY ALL ORDER BY r.dataset, r.visit"
    ),
    "after-apnea": (
        "WITH after AS (\n"
        '    SELECT recording_id, unnest(range(last_row + 1, last_row + 4)) AS "row"\n'
        "    FROM events WHERE kind IN ('obstructive_apnea', 'central_apnea', 'mixed_apnea')\n"
        ")\n"
        "SELECT stage, count(*) AS n_windows, avg(hr_mean) AS hr_mean\n"
        'FROM windows SEMI JOIN after USING (recording_id, "row")\n'
        "GROUP BY stage ORDER BY stage"
    ),
    "grades": (
        "SELECT dataset, visit, grade, count(*) AS n_recordings,\n"
        "       avg(unacceptable_share) AS unacceptable_share\n"
        "FROM quality_grades GROUP BY ALL ORDER BY dataset, visit, grade"
    ),
}
"""What researchers ask first, as SQL to copy and change: windows by data set and quality; the
windows of one subject; subjects with usable windows in several visits; what is quarantined, by
kind of reason; windows by rhythm; minutes of N3 by subject; usable REM windows by visit; windows
of the half minute after an apnea; Unacceptable windows by the technicians' grade."""

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(ANALYZE\s+)?", re.IGNORECASE)


class QueryError(DeapsError):
    """A statement that `run_query` refuses, or that DuckDB cannot run."""


def run_query(
    root: Path | str,
    sql: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> pa.Table:
    """Return the result of one SELECT or EXPLAIN on the published index.

    The connection can read the index and the store's window files, and nothing else.

    Parameters
    ----------
    root
        Folder of the store.
    sql
        One statement; ``$name`` stands for ``parameters["name"]``.
    parameters
        Values of the statement's parameters.
    limit
        Most rows to return; default: all.
    """
    import duckdb

    with open_index(root) as connection:
        _lock_down(connection, resolve_root(root))
        try:
            _check_statement(connection, sql)
            relation = connection.sql(sql, params=dict(parameters) if parameters else None)
            return (relation if limit is None else relation.limit(limit)).to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(str(error)) from None


def question(name: str) -> str:
    """Return the SQL of one of the `QUESTIONS`."""
    if name not in QUESTIONS:
        raise QueryError(f"no question {name!r}; there are {', '.join(QUESTIONS)}")
    return QUESTIONS[name]


def _lock_down(connection: DuckDBPyConnection, store: Path) -> None:
    """Let the connection read the store alone: ``read_only`` does not stop COPY to any file."""
    folder = sql_literal(f"{store.as_posix()}/")
    connection.execute(f"SET VARIABLE {STORE_VARIABLE} = {folder}")
    connection.execute(f"SET allowed_directories = [{folder}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _check_statement(connection: DuckDBPyConnection, sql: str) -> None:
    kinds = _kinds(connection, sql)
    explained = _EXPLAIN.match(sql) if kinds == ["EXPLAIN"] else None
    # EXPLAIN ANALYZE runs what it explains, COPY too, so that must be a SELECT as well.
    inner = _kinds_if_sql(connection, sql[explained.end() :]) if explained else kinds
    if inner != ["SELECT"]:
        given = " of ".join(["EXPLAIN", *inner] if explained else [", ".join(kinds) or "nothing"])
        message = f"the statement is {given}; allowed is one SELECT, or one EXPLAIN of a SELECT"
        raise QueryError(message)


def _kinds(connection: DuckDBPyConnection, sql: str) -> list[str]:
    return [statement.type.name for statement in connection.extract_statements(sql)]


def _kinds_if_sql(connection: DuckDBPyConnection, sql: str) -> list[str]:
    import duckdb

    try:
        return _kinds(connection, sql)
    except duckdb.ParserException:  # options or comments, behind which anything could stand
        return ["something else"]
