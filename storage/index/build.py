"""Filling a new index: types, tables, rows and views."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.index.identity import RecordingKey
from storage.index.results import RunsAndResults
from storage.index.schema_table import write_comments
from storage.index.signal_view import signal_view_sql
from storage.index.subject_rows import grade_view_sql, insert_subjects
from storage.index.window_rows import WindowFile, insert_windows
from storage.recording_json import recording_to_dict, source_to_dict
from storage.schema import (
    DatasetRow,
    OldStage,
    Quality,
    RecordingRow,
    Scoring,
    Stage,
    Status,
    SubjectRow,
    gate_view_sql,
)
from storage.snapshot import sql_literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COUNT_WINDOWS = """
INSERT INTO window_counts
SELECT recording_id, quality, rhythm, count(*), min("row"), max("row")
FROM windows GROUP BY ALL ORDER BY ALL
"""

_DATASET_COUNTS = """
SELECT d.*, count(r.name) AS n_recordings, count_if(r.status = 'quarantined') AS n_quarantined,
       coalesce(sum(r.n_windows) FILTER (r.status = 'ok'), 0) AS n_windows
FROM incoming d LEFT JOIN recordings r USING (dataset) GROUP BY ALL ORDER BY dataset
"""


@dataclass(frozen=True, slots=True)
class IndexContent:
    """Everything that an index holds, except ids and the row about the snapshot."""

    rows: Sequence[RecordingRow]
    datasets: Sequence[DatasetRow]
    results: RunsAndResults
    scorings: Mapping[RecordingKey, Scoring] = field(default_factory=dict)
    """New scorings; those of other recordings are in the previous index."""
    subjects: Sequence[SubjectRow] = ()
    chains: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings that windows were made with, by their digest; those of no recording are left out."""


def tables_sql() -> str:
    """Return the SQL that creates the tables and views that every index has."""
    return _sql("tables.sql") + _sql("views.sql")


def fill_index(
    connection: DuckDBPyConnection,
    root: Path,
    content: IndexContent,
    ids: Mapping[RecordingKey, int],
) -> None:
    """Write everything but the ``snapshot`` row into an empty database."""
    ordered = sorted(content.rows, key=lambda row: ids[row.dataset, row.name])
    with_windows = [row for row in ordered if row.status is Status.OK and row.path]
    files = [
        WindowFile(
            ids[row.dataset, row.name], f"{root.as_posix()}/{row.path}", row.rhythm, row.clock_s
        )
        for row in with_windows
    ]
    scorings = {ids[key]: scoring for key, scoring in content.scorings.items() if key in ids}
    _create_types(connection, with_windows)
    connection.execute(_sql("tables.sql"))
    _insert(connection, "recordings", (_recording(row, ids) for row in ordered))
    _insert(connection, "sources", (s for row in ordered for s in _sources(row, ids)))
    _insert_datasets(connection, content.datasets)
    used = {row.settings_digest for row in ordered}
    chains = [
        {"settings_digest": digest, "settings": json.dumps(chain, sort_keys=True)}
        for digest, chain in sorted(content.chains.items())
        if digest in used
    ]
    _insert(connection, "chains", chains)
    _insert(connection, "runs", content.results.runs)
    _insert(connection, "results", content.results.results)
    insert_windows(connection, root, files, scorings)
    connection.execute(_COUNT_WINDOWS)
    insert_subjects(connection, content.subjects)
    connection.execute(_sql("views.sql"))
    connection.execute(grade_view_sql(content.subjects))
    connection.execute(gate_view_sql())
    connection.execute(signal_view_sql(root, [str(row.path) for row in with_windows]))
    write_comments(connection)


def _create_types(connection: DuckDBPyConnection, rows: Sequence[RecordingRow]) -> None:
    labels = {label for row in rows for label in (row.rhythm, *row.rhythms) if label}
    types: dict[str, list[str]] = {
        "quality_class": list(Quality),
        "rhythm_label": sorted(labels),
        "sleep_stage": list(Stage),
        "old_sleep_stage": list(OldStage),
    }
    for name, values in types.items():
        connection.execute(f"CREATE TYPE {name} AS ENUM ({', '.join(map(sql_literal, values))})")


def _insert_datasets(connection: DuckDBPyConnection, datasets: Sequence[DatasetRow]) -> None:
    rows = [
        {name: getattr(row, name) for name in DatasetRow.__slots__} | {"warnings": [*row.warnings]}
        for row in datasets
    ]
    _insert(connection, "datasets", rows, select=_DATASET_COUNTS)


def _insert(
    connection: DuckDBPyConnection,
    table: str,
    rows: Iterable[dict[str, Any]],
    *,
    select: str = "FROM incoming",
) -> None:
    """Insert rows by column name, all at once: DuckDB is slow with single rows."""
    import pyarrow as pa

    records = list(rows)
    if not records:
        return
    incoming = pa.table({name: [record[name] for record in records] for name in records[0]})
    connection.register("incoming", incoming)
    connection.execute(f"INSERT INTO {table} BY NAME {select}")
    connection.unregister("incoming")


def _recording(row: RecordingRow, ids: Mapping[RecordingKey, int]) -> dict[str, Any]:
    values = recording_to_dict(row)
    del values["sources"]
    return {"recording_id": ids[row.dataset, row.name]} | values


def _sources(row: RecordingRow, ids: Mapping[RecordingKey, int]) -> list[dict[str, Any]]:
    recording = {"recording_id": ids[row.dataset, row.name]}
    return [recording | source_to_dict(source) for source in row.sources]


def _sql(name: str) -> str:
    return (resources.files("storage.index") / "sql" / name).read_text()
