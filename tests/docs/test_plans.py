"""The plan of the open experiment, as its preset and its trials have it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from deaps.method_registry import PAPER_METHODS
from deaps.training.run_folder import TrainingPlan
from flows.config import load_settings
from flows.experiment.plan import plan_experiment

OPEN = Path(__file__).parents[2] / "experiments" / "open"


def test_the_plan_trains_every_method_and_rung_with_every_seed() -> None:
    experiment = plan_experiment(load_settings(preset="open"))
    seeds = Counter(trained.name for trained in experiment.trained if trained.role == "method")
    assert seeds == dict.fromkeys(PAPER_METHODS, 3)
    steps = {row.representation for row in experiment.ablations[0].rows}
    by_name = Counter(trained.name for trained in experiment.trained)
    assert {by_name[step] for step in steps} == {3}


def test_nobody_who_is_tested_is_trained_on() -> None:
    settings = load_settings(preset="open")
    tested = settings.benchmarks
    parts = {tested.afib_train, tested.afib_test, tested.afib_loo, tested.gender, tested.challenge}
    assert not parts & set(settings.sampling.datasets)


def trial_plans(name: str) -> list[TrainingPlan]:
    trained = plan_experiment(load_settings(config=OPEN / name)).trained
    return [each.plan for each in trained if each.role == "trial"]


def test_trials_have_fewer_steps_and_differ_from_each_other() -> None:
    plans = trial_plans("open-trials.toml")
    assert len({str(plan.identity()) for plan in plans}) == len(plans) == 6
    assert {plan.iterations for plan in plans} == {300}


def test_trials_of_a_method_differ_by_the_encoder_alone() -> None:
    plans = trial_plans("open-trials.toml") + trial_plans("encoder-trials.toml")
    for method in ("deaps", "pclr"):
        own = [plan for plan in plans if plan.method == method]
        assert len({plan.model.encoder for plan in own}) == len(own) == 5
        assert len({plan.training for plan in own}) == len({plan.model.deaps for plan in own}) == 1


def test_the_longer_experiment_tries_each_method_at_least_six_times_with_one_encoder() -> None:
    plans = trial_plans("longer-trials.toml")
    assert len({str(plan.identity()) for plan in plans}) == len(plans)
    kept = [plan for plan in plans if plan.model.encoder.norm != "final"]
    trials = Counter(plan.method for plan in kept)
    assert trials.keys() == set(PAPER_METHODS)
    assert min(trials.values()) >= 6
    assert {plan.model.encoder for plan in kept} == {load_settings(preset="open").encoder}
    assert {(plan.method == "tf-c", plan.iterations) for plan in plans} == {
        (False, 300),
        (True, 750),
    }


def test_the_preset_has_the_settings_with_the_highest_scores() -> None:
    experiment = plan_experiment(load_settings(config=OPEN / "longer-trials.toml"))
    trials = {each.name: each.plan for each in experiment.trained if each.role == "trial"}
    preset = {each.name: each.plan for each in experiment.trained if each.role == "method"}
    table = (OPEN / "open-plan.md").read_text(encoding="utf-8").split("## The longer experiment")[1]
    rows = re.findall(r"^\| (.+?) \|.*\| \**([\d.]+)\** \| (chosen)? *\|$", table, re.MULTILINE)
    assert {name for name, _, _ in rows} == {n for n in trials if "final norm" not in n}
    for method in PAPER_METHODS:
        own = [row for row in rows if trials[row[0]].method == method]
        chosen = [(name, float(score)) for name, score, mark in own if mark]
        assert [score for _, score in chosen] == [max(float(score) for _, score, _ in own)]
        assert _tuned(trials[chosen[0][0]]) == _tuned(preset[method])


def _tuned(plan: TrainingPlan) -> tuple[object, ...]:
    return plan.training.learning_rate, plan.training.warmup, plan.model, plan.sampling


def test_the_first_experiment_trains_every_method_for_a_thousand_iterations() -> None:
    trained = plan_experiment(load_settings(config=OPEN / "first-experiment.toml")).trained
    assert Counter(each.name for each in trained) == dict.fromkeys(PAPER_METHODS, 3)
    assert {each.plan.iterations for each in trained} == {1000, 2500}
