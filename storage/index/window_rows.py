"""Filling the table of windows: from the index before for what did not change, else from files.

Thousands of small files take seconds to open; the index before has most of their rows already.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from storage.layout import index_path
from storage.schema import SCHEMA_VERSION
from storage.snapshot import sql_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_FROM_FILES = """
SELECT ($ids::INTEGER[])[file_index::BIGINT + 1] AS recording_id, "row", start_s,
       quality::quality_class, quality4::quality_class,
       psqi, ksqi, bassqi, qsqi, hr_max, flat, clipped, nonfinite,
       {rhythm}, rhythm_share
FROM read_parquet($files, hive_partitioning = false)
"""
_OWN_RHYTHM = "rhythm::rhythm_label"
_EITHER_RHYTHM = "coalesce(rhythm, ($rhythms::VARCHAR[])[file_index::BIGINT + 1])::rhythm_label"

_FROM_BEFORE = """
SELECT recording_id, "row", start_s, quality::quality_class, quality4::quality_class,
       psqi, ksqi, bassqi, qsqi, hr_max, flat, clipped, nonfinite,
       rhythm::rhythm_label, rhythm_share
FROM before.windows SEMI JOIN unchanged USING (recording_id)
"""

_UNCHANGED = """
CREATE TEMP TABLE unchanged AS
SELECT recording_id FROM recordings now JOIN before.recordings was USING (recording_id)
WHERE now.status = 'ok' AND was.status = 'ok' AND now.path = was.path
  AND now.file_sha256 = was.file_sha256 AND now.n_windows = was.n_windows
  AND now.rhythm IS NOT DISTINCT FROM was.rhythm
"""
# A recording's own rhythm fills windows that have none, so that it decides, too.


class WindowFile(NamedTuple):
    """A recording's window file, and the rhythm of its windows that have none of their own."""

    recording_id: int
    path: str
    rhythm: str | None


def insert_windows(connection: DuckDBPyConnection, root: Path, files: Sequence[WindowFile]) -> None:
    """Fill the table ``windows`` of a new index of the store at ``root``."""
    import duckdb

    try:
        connection.execute(f"ATTACH {sql_literal(str(index_path(root)))} AS before (READ_ONLY)")
    except duckdb.Error:  # there is none, or it cannot be read
        _insert(connection, files)
        return
    try:
        unchanged = _find_unchanged(connection)
        changed = [file for file in files if file.recording_id not in unchanged]
        _insert(connection, changed, before=bool(unchanged))
    except duckdb.Error:  # another version's, or damaged: the files have it all
        _insert(connection, files)
    finally:
        connection.execute("DETACH before")


def _find_unchanged(connection: DuckDBPyConnection) -> set[int]:
    """Note the recordings whose windows are those of the index before, and return their ids."""
    ((version,),) = connection.execute("SELECT schema_version FROM before.snapshot").fetchall()
    if version != SCHEMA_VERSION:
        return set()
    connection.execute(_UNCHANGED)
    return {number for (number,) in connection.execute("FROM unchanged").fetchall()}


def _insert(
    connection: DuckDBPyConnection, files: Sequence[WindowFile], *, before: bool = False
) -> None:
    parts: list[str] = []
    values: dict[str, Any] = {}
    if before:
        parts.append(_FROM_BEFORE)
    if files:
        query, values = _from_files(files)
        parts.append(query)
    if not parts:
        return
    connection.execute("SET preserve_insertion_order = false")  # spares a copy before the sorting
    # Sorting is the quick way to a fixed order: DuckDB keeps the order of 8,444 small files by
    # itself too, but takes half as long again. A fixed order makes queries without ORDER BY
    # repeatable, and lets DuckDB skip the parts of the table that a recording is not in.
    together = " UNION ALL ".join(f"({part})" for part in parts)
    connection.execute(
        f'INSERT INTO windows FROM ({together}) ORDER BY recording_id, "row"', values
    )
    connection.execute("RESET preserve_insertion_order")


def _from_files(files: Sequence[WindowFile]) -> tuple[str, dict[str, Any]]:
    rhythms = [file.rhythm for file in files]
    values: dict[str, Any] = {
        "files": [file.path for file in files],
        "ids": [file.recording_id for file in files],
    }
    if any(rhythms):
        values["rhythms"] = rhythms
    rhythm = _EITHER_RHYTHM if any(rhythms) else _OWN_RHYTHM
    return _FROM_FILES.format(rhythm=rhythm), values
