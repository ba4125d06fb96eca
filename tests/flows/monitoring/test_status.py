"""deaps status: what it tells of a store in every state, and that it starts nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from deaps.config import ModelSettings, SamplingSettings, TrainingSettings
from deaps.training.metrics import LINES_NAME
from deaps.training.run_folder import Run, TrainingPlan, create_run, finish_run
from flows.cli import app
from flows.monitoring.event_log import EventLog
from flows.monitoring.status import run_statuses, store_status
from storage.locks import writer_lock
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for

PLAN = TrainingPlan(
    "byol", ModelSettings(), SamplingSettings(), TrainingSettings(iterations=500), "recording"
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with one recording that was read and one that was not."""
    folder = tmp_path_factory.mktemp("status")
    write_edf(folder / "data" / "a.edf", {"ECG": beats(35)})
    write_edf(folder / "data" / "b.edf", {"EEG": beats(35)})
    run(settings_for(folder / "store", folder=folder / "data"))
    return folder / "store"


@pytest.fixture
def store(published: Path, tmp_path: Path) -> Path:
    """Return a store of its own for each test, the index linked."""
    root = tmp_path / "store"
    root.mkdir()
    (root / "index.duckdb").hardlink_to(published / "index.duckdb")
    return root


def deaps_status(store: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["status", "--set", f"store.root={store}", *arguments])


def shown(store: Path) -> str:
    result = deaps_status(store)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def training(store: Path, *, step: int, silent_s: float = 0, step_s: float = 0.1) -> Run:
    """Return a run that wrote its last metrics so long ago."""
    made = create_run(store, PLAN)
    lines = made.folder / LINES_NAME
    lines.write_text(json.dumps({"step": step, "step_s": step_s}) + "\n" + '{"step": 9')
    os.utime(lines, (time.time() - silent_s,) * 2)
    return made


def test_published_recordings_are_counted_by_status(published: Path) -> None:
    text = shown(published)
    assert f"snapshot {_snapshot(published)[:12]}" in text
    assert "2 recordings (1 ok, 1 quarantined), 3 windows" in text


def _snapshot(store: Path) -> str:
    status = store_status(store)
    assert status.published is not None
    return status.published.snapshot_id


def test_changes_since_the_last_refresh_are_left_to_the_scan(published: Path) -> None:
    assert "(now); what changed since: deaps scan" in shown(published)


def test_refresh_that_found_nothing_changed_counts(store: Path) -> None:
    before = store_status(store).refreshed_at
    EventLog(store).write("nothing to do", stage="preprocess")
    after = store_status(store).refreshed_at
    assert before is not None
    assert after is not None
    assert after > before


def test_store_without_an_index_says_what_to_run(tmp_path: Path) -> None:
    assert "nothing published yet; run deaps preprocess" in shown(tmp_path)


def test_damaged_index_is_told(tmp_path: Path) -> None:
    (tmp_path / "index.duckdb").write_bytes(b"broken" * 1000)
    assert "cannot be opened as an index" in shown(tmp_path)


def test_path_that_does_not_exist_stops(tmp_path: Path) -> None:
    result = deaps_status(tmp_path / "nowhere")
    assert result.exit_code == 2
    assert "no store at" in result.output


def test_training_that_writes_is_running(store: Path) -> None:
    made = training(store, step=120)
    assert f"training {made.name}, step 120 of 500" in shown(store)


def test_training_that_is_silent_has_stopped_and_can_go_on(store: Path) -> None:
    training(store, step=120, silent_s=600)
    assert "stopped at step 120 of 500; run the command again to resume" in shown(store)


def test_training_with_slow_steps_is_not_taken_for_stopped(store: Path) -> None:
    training(store, step=120, silent_s=600, step_s=60)
    assert [found.state for found in run_statuses(store)] == ["running"]


def test_training_that_has_not_begun_is_not_running(store: Path) -> None:
    create_run(store, PLAN)
    assert [found.state for found in run_statuses(store)] == ["prepared"]


def test_finished_training_is_told_as_such(store: Path) -> None:
    finish_run(training(store, step=500))
    assert "finished, 500 steps" in shown(store)


def test_training_on_another_snapshot_does_not_promise_to_go_on(store: Path) -> None:
    made = training(store, step=3, silent_s=600)
    config = made.folder / "config.toml"
    config.write_text(config.read_text().replace(made.snapshot_id, "0" * 64))
    assert "its snapshot is not published" in shown(store)


def test_run_that_cannot_be_read_hides_no_other(store: Path) -> None:
    broken = create_run(store, replace(PLAN, method="pclr"))
    (broken.folder / "config.toml").write_text("= nothing")
    finish_run(training(store, step=500))
    assert {found.state for found in run_statuses(store)} == {"unreadable", "finished"}


def test_who_works_on_the_store_is_named(store: Path) -> None:
    with writer_lock(store):
        text = shown(store)
    assert f"bringing the store up to date process {os.getpid()}: " in text
    assert "Running now nothing" in shown(store)


def test_report_is_linked_or_says_what_to_run(store: Path) -> None:
    for name in ("abc", "def"):
        (store / "reports" / name).mkdir(parents=True)
        (store / "reports" / name / "results.parquet").write_bytes(b"")
    (store / "reports" / "abc" / "index.html").write_text("")
    pages = {report.name: report.page for report in store_status(store).reports}
    assert pages == {"abc": (store / "reports/abc/index.html").resolve(), "def": None}
    assert "run deaps report def" in shown(store)


def test_last_problems_of_the_log_are_shown(store: Path) -> None:
    log = EventLog(store)
    log.write("recording processed", level="warning", dataset="shhs", recording="x", reason="bad")
    log.write("recording processed", dataset="shhs", recording="fine")
    text = shown(store)
    assert "recording processed: bad" in text
    assert "fine" not in text


def test_json_tells_the_same(store: Path) -> None:
    training(store, step=120)
    told: dict[str, Any] = json.loads(deaps_status(store, "--json").stdout)
    assert told["published"]["recordings"] == 2
    assert told["runs"][0]["step"] == 120
    assert told["disk_bytes"]["index"] == (store / "index.duckdb").stat().st_size
    assert told["free_bytes"] > 0


def test_status_writes_nothing(store: Path) -> None:
    before = sorted(store.rglob("*"))
    shown(store)
    assert sorted(store.rglob("*")) == before


def test_status_imports_neither_prefect_nor_torch(store: Path) -> None:
    code = (
        f"import sys; sys.argv = ['deaps', 'status', '--set', 'store.root={store}'];"
        "from flows.cli import app; app(standalone_mode=False);"
        "loaded = {'prefect', 'distributed', 'torch', 'scipy', 'mne'} & set(sys.modules);"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
