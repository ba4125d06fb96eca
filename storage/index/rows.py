"""Rows of windows, recordings and subjects, on their way into the index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from storage.files import index_path
from storage.index.scorings import WindowGrid, insert_scorings, score_windows
from storage.schema import EVENT_COLUMNS, SCHEMA_VERSION, OldStage, Scoring, Stage, SubjectRow
from storage.snapshot import sql_literal
from storage.tables import enum_cast, window_columns

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_MEASURED = window_columns("", "file", "recording")
"""Columns of a window that its file and its recording decide."""
_SCORED = window_columns("scoring")
"""Columns that the scoring decides."""
_FROM_FILES = """
SELECT {measured} FROM (
    SELECT ($ids::INTEGER[])[file_index::BIGINT + 1] AS recording_id, * EXCLUDE (rhythm, signal),
           {rhythm} AS rhythm, {time_of_day} AS time_of_day
    FROM read_parquet($files, hive_partitioning = false)
)
"""
_OWN_RHYTHM = "rhythm"
_EITHER_RHYTHM = "coalesce(rhythm, ($rhythms::VARCHAR[])[file_index::BIGINT + 1])"
_NO_CLOCK = "NULL::TIME"
_CLOCK = (
    "TIME '00:00:00' + to_microseconds("
    "((($clocks::DOUBLE[])[file_index::BIGINT + 1] + start_s) * 1e6)::BIGINT)"
)
_FROM_PREVIOUS = """
SELECT {measured}, {columns}
FROM previous.windows p JOIN unchanged USING (recording_id) {join}
WHERE p.recording_id BETWEEN {first} AND {last}
"""
_UNCHANGED = """
CREATE TEMP TABLE unchanged AS
SELECT recording_id,
       new.scoring_digest IS NOT DISTINCT FROM old.scoring_digest AS same_scoring
FROM recordings new JOIN previous.recordings old USING (recording_id)
WHERE new.status = 'ok' AND old.status = 'ok' AND new.path = old.path
  AND new.file_sha256 = old.file_sha256 AND new.n_windows = old.n_windows
  AND new.rhythm IS NOT DISTINCT FROM old.rhythm
"""
_TO_SCORE = """
SELECT recording_id, n_windows FROM recordings ANTI JOIN same USING (recording_id)
WHERE status = 'ok' AND path IS NOT NULL AND scoring_digest IS NOT NULL ORDER BY recording_id
"""
_SCORED_AT_ONCE = 2_000_000
"""Windows whose scoring is in memory at a time: 80 MB."""
_ALL_IDS = (0, 2**31 - 1)
_NOTHING: frozenset[int] = frozenset()

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


# A recording's rhythm fills its windows without one, so a new rhythm is a change, too.


class WindowFile(NamedTuple):
    """A recording's window file, with what the recording adds: rhythm and time of day."""

    recording_id: int
    path: str
    rhythm: str | None
    clock_s: float | None = None


def insert_windows(
    connection: DuckDBPyConnection,
    root: Path,
    files: Sequence[WindowFile],
    scorings: Mapping[int, Scoring],
) -> None:
    """Fill the tables of windows, stages and events of a new index of the store at ``root``.

    ``scorings`` are the new ones, by recording; the previous index has the others.
    """
    import duckdb

    try:
        connection.execute(f"ATTACH {sql_literal(str(index_path(root)))} AS previous (READ_ONLY)")
    except duckdb.Error:  # no index yet, or it cannot be read
        _insert_anew(connection, files, scorings)
        return
    try:
        unchanged = _find_unchanged(connection)
        changed = [file for file in files if file.recording_id not in unchanged]
        insert_scorings(connection, scorings, with_previous=unchanged is not _NOTHING)
        _insert(connection, changed, with_previous=bool(unchanged))
    except duckdb.Error:  # damaged, or of another version: the files have all rows
        connection.execute("DELETE FROM windows")
        _insert_anew(connection, files, scorings)
    finally:
        connection.execute("DETACH previous")


def _insert_anew(
    connection: DuckDBPyConnection, files: Sequence[WindowFile], scorings: Mapping[int, Scoring]
) -> None:
    insert_scorings(connection, scorings, with_previous=False)
    _insert(connection, files, with_previous=False)


def _find_unchanged(connection: DuckDBPyConnection) -> frozenset[int]:
    """Fill the table ``unchanged`` with the recordings to copy, and return their ids.

    `_NOTHING` itself stands for a previous index of another version.
    """
    ((version,),) = connection.execute("SELECT schema_version FROM previous.snapshot").fetchall()
    if version != SCHEMA_VERSION:
        return _NOTHING
    connection.execute(_UNCHANGED)
    return frozenset({number for (number, _) in connection.execute("FROM unchanged").fetchall()})


def _insert(
    connection: DuckDBPyConnection, files: Sequence[WindowFile], *, with_previous: bool
) -> None:
    same = "FROM unchanged WHERE same_scoring" if with_previous else "SELECT 0 AS recording_id"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE same AS {same}")
    for (first, last), grid in _parts(connection):
        within = [file for file in files if first <= file.recording_id <= last]
        _insert_part(connection, within, (first, last), grid, with_previous=with_previous)


def _parts(
    connection: DuckDBPyConnection,
) -> Iterator[tuple[tuple[int, int], WindowGrid | None]]:
    """Yield ranges of ids that together have all, each with the windows to score in it."""
    columns: dict[str, Any] = connection.execute(_TO_SCORE).fetchnumpy()
    ids = np.asarray(columns["recording_id"], np.int32)
    counts = np.asarray(columns["n_windows"], np.int64)
    if not len(ids):
        yield _ALL_IDS, None
        return
    group = (np.cumsum(counts) - counts) // _SCORED_AT_ONCE
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    stops = [*starts[1:].tolist(), len(ids)]
    for start, stop in zip(starts.tolist(), stops, strict=True):
        first = _ALL_IDS[0] if start == 0 else int(ids[start])
        last = _ALL_IDS[1] if stop == len(ids) else int(ids[stop]) - 1
        yield (first, last), WindowGrid(ids[start:stop], counts[start:stop])


def _insert_part(
    connection: DuckDBPyConnection,
    files: Sequence[WindowFile],
    ids: tuple[int, int],
    grid: WindowGrid | None,
    *,
    with_previous: bool,
) -> None:
    if grid is not None:
        connection.register("scored", score_windows(connection, grid))
    if with_previous and not files:
        # The previous table has the order that is wanted, so no sort is needed.
        connection.execute(f"INSERT INTO windows {_from_previous(ids, scored=grid is not None)}")
    elif files:
        measured, values = _from_files(files)
        parts = [_with_scoring(measured, scored=grid is not None)]
        if with_previous:
            parts.append(_from_previous(ids, scored=grid is not None))
        together = " UNION ALL ".join(f"({part})" for part in parts)
        connection.execute("SET preserve_insertion_order = false")  # saves a copy before sorting
        # Sorting is the quickest way to a fixed order: DuckDB can keep the order of 8,444 small
        # files, but that takes half as long again. A fixed order makes queries without ORDER BY
        # repeatable and lets DuckDB skip the parts of the table without a wanted recording.
        connection.execute(
            f'INSERT INTO windows FROM ({together}) ORDER BY recording_id, "row"', values
        )
        connection.execute("RESET preserve_insertion_order")
    if grid is not None:
        connection.unregister("scored")


def _with_scoring(measured: str, *, scored: bool) -> str:
    """Return the query of windows with the columns of their scoring, NULL without one."""
    columns = ", ".join(_scored_columns() if scored else _unscored_columns())
    join = 'LEFT JOIN scored USING (recording_id, "row")' if scored else ""
    return f"SELECT measured.*, {columns} FROM ({measured}) measured {join}"


def _from_previous(ids: tuple[int, int], *, scored: bool) -> str:
    """Return the query of unchanged windows; those with another scoring get its columns."""
    new = _scored_columns() if scored else _unscored_columns()
    columns = ", ".join(
        f"CASE WHEN same_scoring THEN p.{column.name}{enum_cast(column)} ELSE {value} END"
        for column, value in zip(_SCORED, new, strict=True)
    )
    return _FROM_PREVIOUS.format(
        measured=", ".join(f'p."{column.name}"{enum_cast(column)}' for column in _MEASURED),
        columns=columns,
        join='LEFT JOIN scored ON scored.recording_id = p.recording_id AND scored."row" = p."row"'
        if scored
        else "",
        first=ids[0],
        last=ids[1],
    )


def _unscored_columns() -> list[str]:
    return [f"NULL::{column.type}" for column in _SCORED]


def _scored_columns() -> list[str]:
    stages = _stage_name("scored.stage", Stage, "sleep_stage")
    old_stages = _stage_name("scored.old_stage", OldStage, "old_sleep_stage")
    names = ("stage_share", *EVENT_COLUMNS)
    return [stages, old_stages, *(f"scored.{name}" for name in names)]


def _stage_name(column: str, names: type[Stage] | type[OldStage], kind: str) -> str:
    """Return the SQL that makes an enum of a code, by a list of enums: no text is cast."""
    listed = ", ".join(sql_literal(str(name)) for name in names)
    return f"([{listed}]::{kind}[])[{column} + 1]"


def _from_files(files: Sequence[WindowFile]) -> tuple[str, dict[str, Any]]:
    rhythms = [file.rhythm for file in files]
    clocks = [file.clock_s for file in files]
    values: dict[str, Any] = {
        "files": [file.path for file in files],
        "ids": [file.recording_id for file in files],
    }
    has_rhythm, has_clock = any(rhythms), any(clock is not None for clock in clocks)
    if has_rhythm:
        values["rhythms"] = rhythms
    if has_clock:
        values["clocks"] = clocks
    return _FROM_FILES.format(
        measured=", ".join(
            f'"{column.name}"{enum_cast(column)} AS "{column.name}"' for column in _MEASURED
        ),
        rhythm=_EITHER_RHYTHM if has_rhythm else _OWN_RHYTHM,
        time_of_day=_CLOCK if has_clock else _NO_CLOCK,
    ), values


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
    """Fill ``subjects``: the rows of the tables, and all other subjects of the recordings."""
    import pyarrow as pa

    types = _column_types(rows)
    names = list(types)
    for name in names:
        connection.execute(f'ALTER TABLE subjects ADD COLUMN "{name}" {types[name]}')
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
