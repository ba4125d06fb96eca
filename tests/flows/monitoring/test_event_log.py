"""The log: what a line holds, who may write it, and that it stops nobody."""

from __future__ import annotations

import json
import multiprocessing
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flows.experiment.state import evaluation_id
from flows.ingest.recording import ChunkResult
from flows.monitoring import event_log
from flows.monitoring.event_log import EventLog, describe_error, log_recordings
from flows.monitoring.status import last_events
from storage.query import run_query
from storage.schema import RecordingRow, Status
from tests.flows.inline import settings_for
from tests.storage.made_store import make_row, publish_rows, write_recording


def lines(root: Path) -> list[dict[str, Any]]:
    text = "".join(path.read_text() for path in sorted(root.glob("logs/*.jsonl")))
    return [json.loads(line) for line in text.splitlines()]


def write_many(root: Path, writer: int) -> None:
    for number in range(200):
        EventLog(root).write("tick", writer=writer, number=number, filling="x" * 300)


def test_line_tells_when_what_and_where(tmp_path: Path) -> None:
    EventLog(tmp_path).write("seen", stage="s", dataset="shhs", recording="shhs1-200001", windows=3)
    (line,) = lines(tmp_path)
    assert datetime.fromisoformat(line.pop("time")).utcoffset() is not None
    assert line == {
        "level": "info", "event": "seen", "run": None, "stage": "s", "dataset": "shhs",
        "recording": "shhs1-200001", "windows": 3,
    }  # fmt: skip


def test_every_day_has_its_file(tmp_path: Path) -> None:
    EventLog(tmp_path).write("seen")
    assert [path.stem for path in tmp_path.glob("logs/*")] == [f"{datetime.now(UTC):%Y-%m-%d}"]


def test_facts_that_json_has_no_word_for_are_text(tmp_path: Path) -> None:
    EventLog(tmp_path).write("seen", loss=float("nan"), where=Path("a"), absent=None)
    assert lines(tmp_path)[0]["loss"] == "nan"
    assert lines(tmp_path)[0]["where"] == "a"
    assert "absent" not in lines(tmp_path)[0]


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_many, args=(tmp_path, k)) for k in range(2)]
    for process in writers:
        process.start()
    for process in writers:
        process.join()
    counts = [line["number"] for line in lines(tmp_path) if line["writer"] == 1]
    assert len(lines(tmp_path)) == 400
    assert counts == list(range(200))


def test_stage_is_told_from_start_to_end(tmp_path: Path) -> None:
    with EventLog(tmp_path).stage("train", method="byol"):
        pass
    started, finished = lines(tmp_path)
    assert (started["event"], finished["event"]) == ("stage started", "stage finished")
    assert finished["method"] == "byol"
    assert finished["seconds"] >= 0


def test_failed_stage_is_an_error_without_the_errors_text(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Jane Doe"), EventLog(tmp_path).stage("train"):
        raise ValueError("Jane Doe")
    failed = lines(tmp_path)[-1]
    assert (failed["level"], failed["event"]) == ("error", "stage failed")
    assert failed["error"].startswith(f"ValueError in {__name__}, line ")
    assert "Jane" not in str(lines(tmp_path))


def test_error_of_the_system_keeps_the_systems_words() -> None:
    assert describe_error(OSError(28, "anything")) == "OSError (No space left on device)"


def test_full_disk_is_told_once_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(event_log.os, "write", full)
    for _ in range(3):
        EventLog(tmp_path).write("seen")
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_folder_that_cannot_be_made_is_told_and_stops_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("a file")
    EventLog(tmp_path).write("seen")
    assert f"cannot write to {tmp_path / 'logs'} (Not a directory)" in capsys.readouterr().err
    assert (tmp_path / "logs").read_text() == "a file"


def test_quarantined_recording_is_a_warning_with_its_reason(tmp_path: Path) -> None:
    rows = [
        RecordingRow("shhs", "a", "a", 1, Status.OK, n_windows=4),
        RecordingRow("shhs", "b", "b", 1, Status.QUARANTINED, reason="zero length"),
    ]
    log_recordings(EventLog(tmp_path), ChunkResult(rows, 3.0, (1.0, 2.0)))
    first, second = lines(tmp_path)
    assert (first["level"], first["windows"], first["seconds"]) == ("info", 4, 1.0)
    assert (second["level"], second["reason"]) == ("warning", "zero length")


def test_recordings_without_times_are_told_too(tmp_path: Path) -> None:
    row = RecordingRow("shhs", "a", "a", 1, Status.OK)
    log_recordings(EventLog(tmp_path), ChunkResult([row], 0.0))
    assert "seconds" not in lines(tmp_path)[0]


def test_last_events_come_newest_first_over_days(tmp_path: Path) -> None:
    for day, numbers in (("2026-01-01", (1, 2)), ("2026-01-02", (3, 4))):
        path = tmp_path / "logs" / f"{day}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps({"number": n}) + "\n" for n in numbers))
    found = last_events(tmp_path, lambda event: event["number"] != 3, most=2)
    assert [event["number"] for event in found] == [4, 2]


def test_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    EventLog(tmp_path).write("seen")
    with next(tmp_path.glob("logs/*")).open("a") as stream:
        stream.write('{"event": "cu')
    assert [event["event"] for event in last_events(tmp_path, lambda _: True, most=5)] == ["seen"]


def test_store_without_a_log_has_no_events(tmp_path: Path) -> None:
    assert last_events(tmp_path, lambda _: True) == []


def test_how_long_logs_are_kept_changes_no_evaluation(tmp_path: Path) -> None:
    ids = {
        evaluation_id(
            settings_for(tmp_path, f"store.keep_logs_days={days}"), "snapshot", {"run": "1"}
        )
        for days in (1, 90)
    }
    assert len(ids) == 1


@pytest.mark.parametrize("lines", ["", '{"level": "info", "event": "stage started"}\n'])
def test_query_of_the_documentation_works_on_a_log_without_problems(
    tmp_path: Path, lines: str
) -> None:
    text = Path("docs/observability.md").read_text()
    (sql,) = re.findall(r'deaps query "(SELECT [^"]*read_json[^"]*)"', text)
    publish_rows(tmp_path, [write_recording(tmp_path, make_row())])
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "2026-01-01.jsonl").write_text(lines)
    assert run_query(tmp_path, sql.replace("'store/", f"'{tmp_path}/")).num_rows == 0
