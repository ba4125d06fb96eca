"""Runs and results, collected from their files in the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from storage.atomic import replacing
from storage.layout import REPORTS_FOLDER, RESULTS_NAME, RUN_NAME, RUNS_FOLDER

_RUN_TEXT = ("method", "snapshot")
_RUN_TIMES = ("started_at", "finished_at")
_RESULT_KEYS = ("snapshot", "encoder_sha256", "settings_digest", "code", "sources_sha256")
"""What a figure comes from."""

_RESULT_TEXT = ("run", "method", "benchmark", "metric", "note", *_RESULT_KEYS)
_RESULT_NUMBERS = ("value", "low", "high")
_RESULT_COUNTS = ("n", "seed", "sources")
_RESULT_FLAGS = ("synthetic",)


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
