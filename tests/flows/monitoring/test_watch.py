"""``deaps status --watch``: stages under way with rate and end, runs, workers."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from flows.cli.status import section, stage_lines, watch, worker_lines, workers_by_pool
from flows.monitoring.event_log import EventLog
from flows.monitoring.status import stages_under_way
from tests.deaps.training.training_store import make_run, make_training_store


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog(tmp_path)


def in_s(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def test_preprocessing_has_a_rate_and_an_end(tmp_path: Path, log: EventLog) -> None:
    log.write("stage started", stage="preprocess")
    log.write("data set scanned", stage="preprocess", todo=30)
    for _ in range(10):
        log.write("recording processed", stage="preprocess")
    (stage,) = stages_under_way(tmp_path, [], now=in_s(100))
    assert (stage.name, stage.done, stage.total) == ("preprocess", 10, 30)
    assert stage.per_s == pytest.approx(0.1, rel=0.05)
    assert stage.ends_at is not None
    assert (stage.ends_at - in_s(300)).total_seconds() == pytest.approx(0, abs=20)


def test_a_stage_that_ended_is_not_under_way(tmp_path: Path, log: EventLog) -> None:
    with log.stage("embed"):
        assert [stage.name for stage in stages_under_way(tmp_path, [])] == ["embed"]
    with pytest.raises(ValueError), log.stage("report"):  # noqa: PT011 - any error
        raise ValueError
    assert stages_under_way(tmp_path, []) == []


def test_a_stage_of_last_week_is_forgotten(tmp_path: Path, log: EventLog) -> None:
    log.write("stage started", stage="embed")
    assert stages_under_way(tmp_path, [], now=in_s(8 * 86400)) == []


def test_a_training_has_its_steps_a_second(tmp_path: Path) -> None:
    from flows.monitoring.status import run_statuses

    store = make_training_store(tmp_path)
    run = make_run(store)
    row = {"step": 50, "step_s": 0.5}
    (run.folder / "metrics.jsonl").write_text(json.dumps(row) + "\n")
    (stage,) = stages_under_way(store, run_statuses(store))
    assert stage.name == f"train {run.name}"
    assert (stage.done, stage.total, stage.per_s) == (50, run.plan.iterations, 2.0)
    (line,) = stage_lines([stage])
    assert "2 steps a second" in line


class Pools(BaseHTTPRequestHandler):
    """A server with a pool that has a live worker and one that is gone."""

    def do_POST(self) -> None:
        workers = [{"name": "g1", "status": "ONLINE"}, {"name": "g2", "status": "OFFLINE"}]
        answer = workers if "/workers/" in self.path else [{"name": "gpu"}]
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Pools) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_port}/api"
        httpd.shutdown()
        thread.join()


def test_live_workers_are_named_by_pool(monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    monkeypatch.setenv("PREFECT_API_URL", server)
    assert workers_by_pool() == {"gpu": ["g1"]}
    assert list(worker_lines({"gpu": ["g1"], "cpu": []})) == [
        ("pool gpu", "g1"),
        ("pool cpu", "no live worker"),
    ]


def test_a_server_that_does_not_answer_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert workers_by_pool() is None
    assert list(worker_lines(None)) == []


def test_the_screen_shows_a_stage_under_way(tmp_path: Path, log: EventLog) -> None:
    log.write("stage started", stage="benchmarks")
    out = io.StringIO()
    watch(tmp_path, Console(file=out, width=120), times=1)
    assert "Under way" in out.getvalue()
    assert "benchmarks" in out.getvalue()


def test_a_narrow_screen_breaks_no_title_and_cuts_nothing_off(tmp_path: Path) -> None:
    store = tmp_path / "a-store-with-a-name-that-needs-some-room"
    store.mkdir()
    out = io.StringIO()
    watch(store, Console(file=out, width=80), times=1)
    assert f"Store {store}, " in out.getvalue().replace("\n", "")
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert lines[lines.index("Running now") + 1] == "nothing"
    path = "/a/path/without/spaces" * 5
    out = io.StringIO()
    Console(file=out, width=80).print(section("Reports", [("report", path, "now")]))
    assert path in "".join(out.getvalue().split()).replace("now", "")


def test_a_store_that_is_gone_meanwhile_ends_no_watch(tmp_path: Path) -> None:
    out = io.StringIO()
    watch(tmp_path / "gone", Console(file=out, width=120), times=1)
    assert f"no store at {tmp_path}" in out.getvalue()
