"""What follows a refresh: an event where something changed, and what `refresh.then` says."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import pipeline, train
from flows import preprocess as stage
from flows.config import load_settings
from flows.ingest import refresh as ingest
from flows.ingest.refresh import refresh_store
from flows.ingest.scan import scan
from flows.runtime.run_context import RunContext
from storage.errors import DeapsError
from tests.edf_files import beats, write_edf
from tests.flows.inline import run, settings_for


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a refresh did after it had looked at the data sets."""
    calls: list[Any] = []
    monkeypatch.setattr("prefect.events.emit_event", lambda **event: calls.append(event))
    monkeypatch.setattr(stage, "in_flow", lambda: True)
    monkeypatch.setattr(train, "train_experiment", lambda _: calls.append("train") or {})
    monkeypatch.setattr(pipeline, "train_and_report", lambda _: calls.append("report"))
    return calls


def refresh(monkeypatch: pytest.MonkeyPatch, *, changed: bool, then: str) -> None:
    outcome = SimpleNamespace(
        changed=changed, n_recordings=3, snapshot=SimpleNamespace(snapshot_id="5" * 64)
    )
    monkeypatch.setattr(stage, "refresh_store", lambda *args, **kwargs: outcome)
    settings = load_settings(overrides=[f"refresh.then={then}", "data.shhs=/data/shhs"])
    stage.preprocess(RunContext(settings))


def test_a_change_emits_an_event(monkeypatch: pytest.MonkeyPatch, done: list[Any]) -> None:
    refresh(monkeypatch, changed=True, then="nothing")
    (event,) = done
    assert event["event"] == "deaps.dataset.changed"
    assert event["payload"] == {
        "snapshot": "5" * 64, "recordings_done": 3, "datasets": ["shhs"],
    }  # fmt: skip


def test_without_a_change_there_is_no_event(
    monkeypatch: pytest.MonkeyPatch, done: list[Any]
) -> None:
    refresh(monkeypatch, changed=False, then="nothing")
    assert done == []


@pytest.mark.parametrize(("then", "follows"), [("train", ["train"]), ("evaluate", ["report"])])
def test_what_follows_also_follows_a_change_of_a_run_that_was_killed(
    monkeypatch: pytest.MonkeyPatch, done: list[Any], then: str, follows: list[str]
) -> None:
    refresh(monkeypatch, changed=False, then=then)
    assert done == follows


def test_a_stage_without_any_data_says_so_before_it_publishes(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "store", shhs=tmp_path / "nowhere")
    with pytest.raises(DeapsError, match=r"none of the configured data sets is there \(shhs: no"):
        refresh_store(settings)
    assert not (tmp_path / "store/index.duckdb").exists()


@pytest.mark.parametrize("damaged", [True, False])
def test_a_damaged_index_is_made_again_with_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damaged: bool
) -> None:
    write_edf(tmp_path / "data/a.edf", {"ECG": beats(20)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    index = tmp_path / "store/index.duckdb"
    if damaged:
        index.chmod(0o600)
        index.write_bytes(index.read_bytes()[:5000])
    assert refresh_store(settings).snapshot.n_recordings == 1
    assert ("is damaged; rebuilding it from folder only" in capsys.readouterr().err) == damaged


@pytest.fixture
def no_second_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second scan fail."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("scanned again")

    monkeypatch.setattr(ingest, "scan", refuse)


def test_the_scan_of_the_command_serves_the_stage(tmp_path: Path, no_second_scan: None) -> None:
    for seed, name in enumerate(("a", "b")):
        path = write_edf(tmp_path / f"data/{name}.edf", {"ECG": beats(20, seed=seed)})
        os.utime(path, (1e9, 1e9))  # at rest, so that it counts as unchanged
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    run(settings)
    (tmp_path / "data/b.edf").unlink()
    assert refresh_store(settings, scan(settings)).snapshot.n_recordings == 1


def test_an_outdated_scan_is_not_trusted(tmp_path: Path, no_second_scan: None) -> None:
    write_edf(tmp_path / "data/a.edf", {"ECG": beats(20)})
    settings = settings_for(tmp_path / "store", folder=tmp_path / "data")
    scanned = scan(settings)
    run(settings)  # another process published meanwhile
    with pytest.raises(AssertionError, match="scanned again"):
        refresh_store(settings, scanned)
