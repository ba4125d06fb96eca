"""What the pipeline does when trainings fail, without Prefect."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import pipeline, report, train
from flows.config import Settings, load_settings
from flows.experiment import inputs
from flows.pipeline import train_and_report
from flows.runtime.run_context import RunContext
from flows.train import train_experiment
from storage.errors import DeapsError


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stages that note what was called; two runs, of which ``bad`` fails each time."""
    state = SimpleNamespace(
        calls=[], runs={"good": 1}, unfinished=["good", "bad"], missing=("good", "bad")
    )

    def train_runs(context: RunContext, runs: Any) -> dict[str, str]:
        state.calls.append([run.name for run in runs])
        state.unfinished = ["bad"]
        return {run.name: "out of memory" for run in runs if run.name == "bad"}

    monkeypatch.setattr(
        train,
        "unfinished_runs",
        lambda settings: [SimpleNamespace(name=name) for name in state.unfinished],
    )
    monkeypatch.setattr(inputs, "check_experiment", lambda settings: None)
    monkeypatch.setattr(train, "train_runs", train_runs)
    for module in (train, pipeline):
        monkeypatch.setattr(module, "load_state", lambda settings: state)
    monkeypatch.setattr(pipeline, "embed_runs", lambda *_: state.calls.append("embed"))
    monkeypatch.setattr(pipeline, "_evaluate", lambda *_: Path("/r/abc"))
    monkeypatch.setattr(pipeline, "_write_report", lambda *_: Path("/r/abc/index.html"))
    return state


def test_a_failed_training_is_tried_once_and_the_report_is_of_the_others(
    done: SimpleNamespace,
) -> None:
    with pytest.raises(DeapsError) as error:
        train_and_report(RunContext(Settings()))
    assert done.calls == [["good", "bad"], "embed"]
    assert "1 training failed (bad: out of memory)" in str(error.value)
    assert "The report of the others: /r/abc/index.html" in str(error.value)


def test_without_any_run_nothing_is_evaluated(done: SimpleNamespace) -> None:
    done.runs = {}
    with pytest.raises(DeapsError, match="out of memory"):
        train_and_report(RunContext(Settings()))
    assert "embed" not in done.calls


def test_without_failures_the_page_is_returned(done: SimpleNamespace) -> None:
    done.unfinished, done.missing = [], ()
    page = train_and_report(RunContext(Settings()))
    assert page == Path("/r/abc/index.html")
    assert train_experiment(RunContext(Settings())) == {}


def test_a_page_in_a_relative_store_is_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links: list[str] = []
    monkeypatch.setattr(report, "publish_link", lambda url, **_: links.append(url))
    monkeypatch.chdir(tmp_path)
    report.link_report(load_settings(), Path("store/reports/x/index.html"))
    assert links == [(tmp_path / "store/reports/x/index.html").as_uri()]
