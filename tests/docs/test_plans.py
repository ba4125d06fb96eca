"""The plans of experiments in the documents can be run as they stand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from deaps.method_registry import PAPER_METHODS
from flows.config import load_settings
from flows.experiment.plan import plan_experiment

DOCS = Path(__file__).parents[2] / "docs"


def test_the_plan_trains_every_method_and_rung_with_every_seed() -> None:
    experiment = plan_experiment(load_settings(config=DOCS / "open-plan.toml"))
    seeds = Counter(trained.name for trained in experiment.trained if trained.role == "method")
    assert seeds == dict.fromkeys(PAPER_METHODS, 3)
    rungs = {row.representation for row in experiment.ablations[0].rows}
    by_name = Counter(trained.name for trained in experiment.trained)
    assert {by_name[rung] for rung in rungs} == {3}


def test_what_an_earlier_experiment_tuned_is_not_in_the_plan() -> None:
    experiment = plan_experiment(load_settings(config=DOCS / "open-plan.toml"))
    rates = {trained.plan.training.learning_rate for trained in experiment.trained}
    assert rates == {3e-4}
    assert {trained.plan.model.deaps.tau for trained in experiment.trained} == {0.995}


def test_trials_have_fewer_steps_and_differ_from_each_other() -> None:
    for name, number in {"open-plan.toml": 30, "open-trials.toml": 15}.items():
        settings = load_settings(config=DOCS / name)
        assert len(settings.experiment.trials) == number
        plans = [t.plan for t in plan_experiment(settings).trained if t.role == "trial"]
        assert len({str(plan.identity()) for plan in plans}) == len(plans) > 0
        assert max(plan.iterations for plan in plans) <= 1250
