"""A new index from what is to be published: filled, checked, with runs and results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.errors import DeapsError
from storage.files import REPORTS_FOLDER, RESULTS_NAME, RUN_NAME, RUNS_FOLDER, replacing
from storage.index.columns import file_views_sql, write_comments
from storage.index.published import RecordingKey
from storage.index.rows import WindowFile, grade_view_sql, insert_subjects, insert_windows
from storage.schema import (
    DatasetRow,
    OldStage,
    Quality,
    QualityFault,
    RecordingRow,
    Scoring,
    Stage,
    Status,
    SubjectRow,
    gate_view_sql,
)
from storage.snapshot import sql_literal
from storage.tables import create_tables_sql, create_views_sql
from storage.windows import recording_to_dict, source_to_dict

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_RUN_TEXT = ("method", "snapshot")
_RUN_TIMES = ("started_at", "finished_at")
_RESULT_KEYS = ("snapshot", "encoder_sha256", "settings_digest", "code", "sources_sha256")
"""What a figure comes from."""
_RESULT_TEXT = ("run", "method", "benchmark", "metric", "note", *_RESULT_KEYS)
_RESULT_NUMBERS = ("value", "low", "high")
_RESULT_COUNTS = ("n", "seed", "sources")
_RESULT_FLAGS = ("synthetic",)

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

_WRONG_COUNTS = """
WITH counted AS (
    SELECT recording_id, sum(n_windows) AS n, min(first_row) AS first, max(last_row) AS last
    FROM window_counts GROUP BY recording_id
)
SELECT coalesce(dataset || '/' || name, 'recording ' || c.recording_id), coalesce(n, 0),
       CASE WHEN status = 'ok' THEN n_windows ELSE 0 END AS expected
FROM recordings r FULL JOIN counted c USING (recording_id)
WHERE coalesce(n, 0) <> coalesce(expected, 0)
   OR (n > 0 AND (first <> 0 OR last <> n - 1))
ORDER BY 1 LIMIT 5
"""
_LOST_SCORINGS = """
SELECT dataset || '/' || name FROM recordings
WHERE scoring_digest IS NOT NULL
  AND recording_id NOT IN (SELECT recording_id FROM stages UNION SELECT recording_id FROM events)
ORDER BY 1 LIMIT 5
"""
_WRONG_SOURCES = "SELECT count(*) FROM sources ANTI JOIN recordings USING (recording_id)"


@dataclass(frozen=True, slots=True)
class RunsAndResults:
    """Rows of ``runs`` and ``results``; ``skipped`` names unreadable files with the reason."""

    runs: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def collect_runs_and_results(root: Path) -> RunsAndResults:
    """Return the content of ``runs/*/run.json`` and ``reports/*/results.parquet``."""
    collected = RunsAndResults()
    for path in _files(root / RUNS_FOLDER, RUN_NAME):
        collected.runs.extend(_read_or_skip(_run_rows, path, collected.skipped, root))
    for path in _files(root / REPORTS_FOLDER, RESULTS_NAME):
        collected.results.extend(_read_or_skip(_result_rows, path, collected.skipped, root))
    return collected


def write_results(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of ``results`` for `collect_runs_and_results`; absent values become NULL."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [(name, pa.string()) for name in _RESULT_TEXT]
    fields += [(name, pa.float64()) for name in _RESULT_NUMBERS]
    fields += [(name, pa.int64()) for name in _RESULT_COUNTS]
    fields += [(name, pa.bool_()) for name in _RESULT_FLAGS]
    with replacing(path) as temporary:
        pq.write_table(pa.Table.from_pylist(list(rows), pa.schema(fields)), temporary)


def _files(folder: Path, name: str) -> Iterator[Path]:
    if folder.is_dir():
        yield from (p / name for p in sorted(folder.iterdir()) if (p / name).is_file())


def _read_or_skip(
    read: Callable[[Path], list[dict[str, Any]]], path: Path, skipped: list[str], root: Path
) -> list[dict[str, Any]]:
    try:
        return read(path)
    except (ValueError, TypeError, OSError) as error:  # pyarrow's ArrowInvalid is a ValueError
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        skipped.append(f"{path.relative_to(root).as_posix()}: {reason}")
        return []


def _run_rows(path: Path) -> list[dict[str, Any]]:
    values = json.loads(path.read_bytes())
    if not isinstance(values, dict):
        raise TypeError(f"holds a {type(values).__name__}, expected an object")
    row: dict[str, Any] = {"run": path.parent.name}
    row |= {name: _optional(str, values.get(name)) for name in _RUN_TEXT}
    row |= {name: _optional(_utc, values.get(name)) for name in _RUN_TIMES}
    row["iterations"] = _optional(int, values.get("iterations"))
    row["config"] = _optional(json.dumps, values.get("config"))
    row["synthetic"] = _optional(bool, values.get("synthetic"))
    return [row]


def _result_rows(path: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    rows = []
    with path.open("rb") as stream:  # a stream, because a name could be a pattern
        records = pq.read_table(stream).to_pylist()
    for values in records:
        row: dict[str, Any] = {"report": path.parent.name}
        row |= {name: _optional(str, values.get(name)) for name in _RESULT_TEXT}
        row |= {name: _optional(float, values.get(name)) for name in _RESULT_NUMBERS}
        row |= {name: _optional(int, values.get(name)) for name in _RESULT_COUNTS}
        row |= {name: _optional(bool, values.get(name)) for name in _RESULT_FLAGS}
        rows.append(row)
    return rows


def _optional(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def _utc(value: str | float) -> datetime:
    """Return a time given as ISO 8601 or in seconds since 1970 as UTC without a zone."""
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)
    parsed = datetime.fromisoformat(value)
    return parsed.astimezone(UTC).replace(tzinfo=None) if parsed.tzinfo else parsed


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
    connection.execute(create_tables_sql())
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
    connection.execute(create_views_sql())
    connection.execute(grade_view_sql(content.subjects))
    connection.execute(gate_view_sql())
    connection.execute(file_views_sql(root, [str(row.path) for row in with_windows]))
    write_comments(connection)


def _create_types(connection: DuckDBPyConnection, rows: Sequence[RecordingRow]) -> None:
    labels = {label for row in rows for label in (row.rhythm, *row.rhythms) if label}
    types: dict[str, list[str]] = {
        "quality_class": list(Quality),
        "quality_fault": list(QualityFault),
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


def check_rows(root: Path, rows: Sequence[RecordingRow]) -> None:
    """Raise DeapsError unless the file of each row exists with the size in the row."""
    for row in rows:
        if row.status is not Status.OK or (row.path is None and row.n_windows == 0):
            continue
        size = _size(f"{root}/{row.path}") if row.path else None
        if size is None or size != row.bytes or not row.signal_offset:
            message = (
                f"{row.dataset}/{row.name}: window file {row.path} has {size} bytes, "
                f"expected {row.bytes}; run deaps doctor, then deaps preprocess"
            )
            raise DeapsError(message)


def check_index(connection: DuckDBPyConnection) -> None:
    """Raise DeapsError unless windows and recordings of a filled index agree.

    Raises
    ------
    ValueError
        If a source belongs to no recording, which only a fault of this program can cause.
    """
    wrong = connection.execute(_WRONG_COUNTS).fetchall()
    if wrong:
        listed = "; ".join(f"{name} has {n} windows, expected {m}" for name, n, m in wrong)
        raise DeapsError(
            f"windows and recordings disagree: {listed}; run deaps doctor, then deaps preprocess"
        )
    lost = [name for (name,) in connection.execute(_LOST_SCORINGS).fetchall()]
    if lost:
        raise DeapsError(
            f"stages and events of {', '.join(lost)} are neither new nor in the published index; "
            "run deaps preprocess --verify, which reads them again"
        )
    (orphans,) = connection.execute(_WRONG_SOURCES).fetchall()[0]
    if orphans:
        raise ValueError(f"{orphans} rows of sources belong to no recording")


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a Path for each file takes four times as long
    except FileNotFoundError:
        return None
