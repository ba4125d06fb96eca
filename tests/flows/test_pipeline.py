"""What the pipeline does when trainings fail, without Prefect."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows import pipeline
from flows.config import Settings
from flows.experiment import inputs
from flows.pipeline import IncompleteExperimentError, train_and_report, train_experiment
from flows.runtime.flow_start import StageParameters


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stages that note what was called; two runs, of which ``bad`` fails each time."""
    state = SimpleNamespace(
        calls=[], runs={"good": 1}, unfinished=["good", "bad"], missing=("good", "bad")
    )

    def train(settings: Settings, parameters: StageParameters, runs: Any) -> dict[str, str]:
        state.calls.append([run.name for run in runs])
        state.unfinished = ["bad"]
        return {run.name: "out of memory" for run in runs if run.name == "bad"}

    monkeypatch.setattr(
        pipeline,
        "unfinished_runs",
        lambda settings: [SimpleNamespace(name=name) for name in state.unfinished],
    )
    monkeypatch.setattr(inputs, "check_experiment", lambda settings: None)
    monkeypatch.setattr(pipeline, "train_runs", train)
    monkeypatch.setattr(pipeline, "load_state", lambda settings: state)
    monkeypatch.setattr(pipeline, "embed_runs", lambda *_: state.calls.append("embed"))
    monkeypatch.setattr(pipeline, "evaluate_runs", lambda *_: Path("/r/abc"))
    monkeypatch.setattr(pipeline, "write_report", lambda *_: Path("/r/abc/index.html"))
    return state


def test_a_failed_training_is_tried_once_and_the_report_is_of_the_others(
    done: SimpleNamespace,
) -> None:
    with pytest.raises(IncompleteExperimentError) as error:
        train_and_report(Settings(), StageParameters())
    assert done.calls == [["good", "bad"], "embed"]
    assert "1 training failed (bad: out of memory)" in str(error.value)
    assert "The report of the others: /r/abc/index.html" in str(error.value)


def test_without_any_run_nothing_is_evaluated(done: SimpleNamespace) -> None:
    done.runs = {}
    with pytest.raises(IncompleteExperimentError, match="out of memory"):
        train_and_report(Settings(), StageParameters())
    assert "embed" not in done.calls


def test_without_failures_the_page_is_returned(done: SimpleNamespace) -> None:
    done.unfinished, done.missing = [], ()
    page = train_and_report(Settings(), StageParameters())
    assert page == Path("/r/abc/index.html")
    assert train_experiment(Settings(), StageParameters()) == {}
