from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage import RecordingRow, open_index
from storage.index.build import collect_runs_and_results, write_results
from tests.storage.made_store import publish_rows

RUN = {
    "method": "deaps",
    "snapshot": "abc",
    "started_at": "2026-11-01T12:00:00+02:00",
    "finished_at": 1_700_000_000,
    "iterations": 300,
    "config": {"batch": 8},
    "synthetic": True,
    "host": "not a column",
}


def write_run(root: Path, name: str, text: str) -> None:
    folder = root / "runs" / name
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(text)


def test_a_run_and_its_results_enter_the_index(root: Path, rows: list[RecordingRow]) -> None:
    write_run(root, "r-1", json.dumps(RUN))
    report = root / "reports/x/results.parquet"
    report.parent.mkdir(parents=True)
    pq.write_table(pa.table({"run": ["r-1"], "metric": ["auc"], "value": [0.9], "n": [7]}), report)
    assert publish_rows(root, rows).skipped == ()
    with open_index(root) as index:
        (run,) = index.execute("FROM runs").fetchall()
        (result,) = index.execute("FROM results").fetchall()
    assert run[:4] == ("r-1", "deaps", "abc", datetime(2026, 11, 1, 10))
    assert (run[5], json.loads(run[6]), run[7]) == (300, {"batch": 8}, True)
    assert result[:11] == ("x", "r-1", None, None, None, "auc", 0.9, None, None, 7, None)
    assert set(result[11:]) == {None}


def test_results_come_back_as_they_were_written(root: Path) -> None:
    full = {"run": "r", "method": "m", "benchmark": "b", "metric": "auc", "note": "x",
            "value": 0.5, "low": 0.25, "high": 0.75, "n": 3, "seed": 4,
            "snapshot": "s", "encoder_sha256": "e", "settings_digest": "d", "code": "1",
            "sources": 2, "sources_sha256": "f", "synthetic": True}  # fmt: skip
    write_results(root / "reports/one/results.parquet", [full, {"metric": "acc"}])
    first, second = collect_runs_and_results(root).results
    assert first == full | {"report": "one"}
    assert second == dict.fromkeys(full) | {"metric": "acc", "report": "one"}


def test_runs_change_the_index_but_not_the_snapshot_id(
    root: Path, rows: list[RecordingRow]
) -> None:
    first = publish_rows(root, rows)
    write_run(root, "r-1", json.dumps(RUN))
    second = publish_rows(root, rows)
    assert second.rebuilt
    assert second.snapshot_id == first.snapshot_id
    assert not publish_rows(root, rows).rebuilt


def test_a_run_of_an_older_version_does_not_say_whether_data_were_synthetic(root: Path) -> None:
    write_run(root, "r-1", json.dumps({"method": "deaps"}))
    (run,) = collect_runs_and_results(root).runs
    assert run["synthetic"] is None


@pytest.mark.parametrize(
    "time", ["2026-11-01T12:00:00+02:00", "2026-11-01T10:00:00", 1_793_527_200]
)
def test_times_become_utc_without_a_zone(root: Path, time: str | int) -> None:
    write_run(root, "r-1", json.dumps({"started_at": time}))
    (run,) = collect_runs_and_results(root).runs
    assert run["started_at"] == datetime(2026, 11, 1, 10)
    assert run["started_at"].tzinfo is None


@pytest.mark.parametrize("text", ["{", "[1]", '{"iterations": "many"}', '{"started_at": "soon"}'])
def test_a_malformed_run_is_skipped_and_named(root: Path, text: str) -> None:
    write_run(root, "bad", text)
    collected = collect_runs_and_results(root)
    assert collected.runs == []
    (skipped,) = collected.skipped
    assert re.fullmatch(r"runs/bad/run\.json: \S.+", skipped)


def test_a_malformed_report_is_skipped_and_named(root: Path, rows: list[RecordingRow]) -> None:
    report = root / "reports/x/results.parquet"
    report.parent.mkdir(parents=True)
    report.write_bytes(b"no parquet")
    assert publish_rows(root, rows).skipped[0].startswith("reports/x/results.parquet: ")


def test_a_run_that_is_not_finished_is_not_there(root: Path) -> None:
    (root / "runs/going").mkdir(parents=True)
    assert collect_runs_and_results(root).runs == []
