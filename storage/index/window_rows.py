"""Filling the table of windows: unchanged ones from the previous index, others from files.

Thousands of small files take seconds to open, and the previous index has most of their rows.
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

_FROM_PREVIOUS = """
SELECT recording_id, "row", start_s, quality::quality_class, quality4::quality_class,
       psqi, ksqi, bassqi, qsqi, hr_max, flat, clipped, nonfinite,
       rhythm::rhythm_label, rhythm_share
FROM previous.windows SEMI JOIN unchanged USING (recording_id)
"""

_UNCHANGED = """
CREATE TEMP TABLE unchanged AS
SELECT recording_id FROM recordings new JOIN previous.recordings old USING (recording_id)
WHERE new.status = 'ok' AND old.status = 'ok' AND new.path = old.path
  AND new.file_sha256 = old.file_sha256 AND new.n_windows = old.n_windows
  AND new.rhythm IS NOT DISTINCT FROM old.rhythm
"""
# A recording's rhythm fills its windows without one, so a new rhythm is a change, too.


class WindowFile(NamedTuple):
    """A recording's window file, and the rhythm of its windows without one of their own."""

    recording_id: int
    path: str
    rhythm: str | None


def insert_windows(connection: DuckDBPyConnection, root: Path, files: Sequence[WindowFile]) -> None:
    """Fill the table ``windows`` of a new index of the store at ``root``."""
    import duckdb

    try:
        connection.execute(f"ATTACH {sql_literal(str(index_path(root)))} AS previous (READ_ONLY)")
    except duckdb.Error:  # no index yet, or it cannot be read
        _insert(connection, files)
        return
    try:
        unchanged = _find_unchanged(connection)
        changed = [file for file in files if file.recording_id not in unchanged]
        _insert(connection, changed, with_previous=bool(unchanged))
    except duckdb.Error:  # damaged, or of another version: the files have all rows
        _insert(connection, files)
    finally:
        connection.execute("DETACH previous")


def _find_unchanged(connection: DuckDBPyConnection) -> set[int]:
    """Fill the table ``unchanged`` with the recordings to copy, and return their ids."""
    ((version,),) = connection.execute("SELECT schema_version FROM previous.snapshot").fetchall()
    if version != SCHEMA_VERSION:
        return set()
    connection.execute(_UNCHANGED)
    return {number for (number,) in connection.execute("FROM unchanged").fetchall()}


def _insert(
    connection: DuckDBPyConnection, files: Sequence[WindowFile], *, with_previous: bool = False
) -> None:
    parts: list[str] = []
    values: dict[str, Any] = {}
    if with_previous:
        parts.append(_FROM_PREVIOUS)
    if files:
        query, values = _from_files(files)
        parts.append(query)
    if not parts:
        return
    connection.execute("SET preserve_insertion_order = false")  # saves a copy before sorting
    # Sorting is the quickest way to a fixed order: DuckDB can keep the order of 8,444 small
    # files, but that takes half as long again. A fixed order makes queries without ORDER BY
    # repeatable and lets DuckDB skip the parts of the table without a wanted recording.
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
