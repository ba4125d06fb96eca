"""Wrong benchmarks are told before anything is trained, not hours later in the evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from deaps.training.run_folder import Run
from deaps.training.trained_on import planned_training
from flows import launch, train
from flows.config import Settings, load_settings
from flows.experiment.inputs import check_experiment
from flows.experiment.plan import training_plan
from flows.runtime.run_context import RunContext
from flows.train import train_experiment, train_methods
from storage.errors import DeapsError
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.deaps.training.training_store import make_training_store

LEAK = "warning: benchmark {} will be refused, because 3 of 3 tested people are in the pre-training"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_labelled_store(tmp_path_factory.mktemp("checked"))


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the methods that the pipeline began to train."""
    begun: list[str] = []

    def train_runs(_: RunContext, runs: Sequence[Run]) -> dict[str, str]:
        begun.extend(run.plan.method for run in runs)
        return {run.name: "not trained in this test" for run in runs}

    monkeypatch.setattr(train, "train_runs", train_runs)
    return begun


def settings_with(store: Path, *overrides: str, trained_on: str = "shhs") -> Settings:
    common = [
        f"store.root={store}", f'sampling.datasets=["{trained_on}"]', "experiment.ablations=[]",
        'experiment.methods=["clocs"]', "benchmarks.gender_subjects=20",
    ]  # fmt: skip
    return load_settings(overrides=[*common, *overrides])


@pytest.mark.parametrize("key", ["afib_train", "afib_test", "afib_loo", "afib_inner", "sleep"])
def test_a_part_that_a_benchmark_names_wrongly_stops_the_run_before_it_trains(
    store: Path, trained: list[str], key: str
) -> None:
    settings = settings_with(store, f"benchmarks.{key}=challenge2017:set-III")
    message = (
        f"benchmarks.{key} has 'challenge2017:set-III'; challenge2017 has 'challenge2017:train', "
        "'challenge2017:validation'"
    )
    with pytest.raises(DeapsError, match=message):
        train_experiment(RunContext(settings))
    assert trained == []
    assert not list(store.glob("runs/*"))


def test_a_part_that_the_sampler_does_not_find_stops_the_run_before_it_trains(
    store: Path, trained: list[str]
) -> None:
    settings = settings_with(store, trained_on="challenge2017:set-III")
    with pytest.raises(DeapsError, match=r"sampling\.datasets has 'challenge2017:set-III'"):
        train_experiment(RunContext(settings))
    assert trained == []


def test_a_data_set_that_is_not_there_at_all_is_no_mistake(store: Path, trained: list[str]) -> None:
    train_experiment(RunContext(settings_with(store, "benchmarks.afib_test=cpsc2021:set-II")))
    assert trained == ["clocs"]


def test_each_benchmark_that_tests_trained_people_is_told_before_the_training(
    store: Path, trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    train_experiment(RunContext(settings_with(store, trained_on="afdb")))
    lines = capsys.readouterr().err.splitlines()
    names = ["afib-transfer", "afib-loo"]
    assert len(lines) == len(names)
    for line, name in zip(lines, names, strict=True):
        assert line.startswith(f"{LEAK.format(name)} of clocs. Test other people")
    assert trained == ["clocs"]


def test_the_training_stage_alone_tells_it_too(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_with(store, trained_on="afdb")
    monkeypatch.setattr(launch, "train_run", lambda *_: None)
    train_methods(RunContext(settings), ["clocs"])
    assert capsys.readouterr().err.count("will be refused") == 2


def test_nothing_is_told_of_people_who_are_only_fitted_on(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = ("benchmarks.afib_loo=afdb", "benchmarks.afib_train=mitdb")
    settings = settings_with(store, *overrides, trained_on="mitdb")
    check_experiment(settings)
    assert "benchmark afib-transfer" not in capsys.readouterr().err


def test_a_trial_on_tested_people_is_told_of_the_inner_folds_alone(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = '{method = "clocs", overrides = [\'sampling.datasets=["afdb", "challenge2017"]\']}'
    check_experiment(settings_with(store, f"experiment.trials.hot={trial}"))
    told = [line.split()[2] for line in capsys.readouterr().err.splitlines()]
    assert told == ["inner-folds", "inner-few"]


@pytest.mark.parametrize("method", ["deaps", "byol", "pclr", "clocs", "mixing-up", "tf-c"])
def test_whom_a_training_will_draw_from_is_known_without_it(tmp_path: Path, method: str) -> None:
    store = make_training_store(tmp_path, subjects=2)
    plan: Any = training_plan(load_settings(), method)
    planned = planned_training({method: plan}, store)[method]
    assert planned.subjects == {"ds/s0", "ds/s1"}
    assert len(planned.recordings) == 4
