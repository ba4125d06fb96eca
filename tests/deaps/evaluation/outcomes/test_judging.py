"""Which answers an evaluation's figures are made of."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from deaps.config import ModelSettings, SamplingSettings, TrainingSettings
from deaps.evaluation.answers import AnswerKey, AnswersByKey
from deaps.evaluation.document import Ablation, AblationRow
from deaps.evaluation.outcomes import Scorer, ranks
from deaps.evaluation.probes import Answers
from deaps.experiment import Experiment, Trained
from deaps.training.run_folder import TrainingPlan
from tests.deaps.evaluation.outcomes.test_curves import PLAN as CURVE_PLAN
from tests.deaps.evaluation.outcomes.test_curves import run as curve_run
from tests.deaps.evaluation.outcomes.test_figures import EXAMPLES, PLAN, ThreeClasses, answers

PLANS = {"made": PLAN}


class LeakingTwin(ThreeClasses):
    """The same benchmark with what it tests among what it is fitted on."""

    leak = "It leaks."


def right(share: float) -> list[Answers]:
    """Return answers of which so many, of 30 in each fold, are right."""
    made = []
    for fold in PLAN.folds:
        truth = EXAMPLES.labels[fold.test].astype(np.int64)
        made.append(answers(np.where(np.arange(30) < 30 * share, truth, (truth + 1) % 3)))
    return made


def trained(name: str, seed: int) -> Trained:
    plan = TrainingPlan(
        name, ModelSettings(), SamplingSettings(), TrainingSettings(seed=seed), "recording"
    )
    return Trained(name, name.upper(), "method", plan)


EXPERIMENT = Experiment(tuple(trained(n, s) for n in ("deaps", "byol") for s in (0, 1)), ())


@pytest.mark.parametrize("probes", [["logistic"], ["logistic", "svc"], ["svc", "logistic"]])
def test_accuracy_along_the_steps_is_that_of_the_first_probe(probes: list[str]) -> None:
    """As the answers come: earlier steps have the first probe alone, the last has all of them."""
    shares = {"svc": 0.5, "logistic": 0.9}
    first = AnswerKey("deaps", 0, 100, "made", probes[0])
    given: AnswersByKey = {first: right(0.3)}
    given |= {first._replace(step=None, probe=probe): right(shares[probe]) for probe in probes}
    scorer = Scorer(EXPERIMENT, "deaps", probes)
    by_step = scorer.figures_by_step(PLANS, given, {"deaps": 0})["deaps", "made", "accuracy"]
    assert by_step == pytest.approx({100: 0.3, None: shares[probes[0]]})


def test_of_two_classes_auroc_is_followed_too() -> None:
    rng = np.random.default_rng(1)
    fold = CURVE_PLAN.folds[0]
    labels = CURVE_PLAN.examples.labels[fold.test].astype(np.int64)
    key = AnswerKey("deaps", 0, None, "made", "svc")
    runs = {}
    for step in (10, None):
        scores = rng.random((len(labels), 2))
        runs[key._replace(step=step)] = [Answers(np.zeros(len(labels), np.int8), scores)]
    scorer = Scorer(EXPERIMENT, "deaps", ["svc"])
    found = scorer.figures_by_step({"made": CURVE_PLAN}, runs, {"deaps": 0})
    assert found["deaps", "made", "auroc"] == pytest.approx(
        {k.step: roc_auc_score(labels, given[0].scores[:, 1]) for k, given in runs.items()}
    )
    assert found["deaps", "made", "accuracy"] == pytest.approx(
        dict.fromkeys((10, None), np.mean(labels == 0))
    )


def test_spans_and_features_are_a_family_apart_from_the_ladder() -> None:
    ablations = tuple(
        Ablation(
            name=name,
            title=name,
            rows=tuple(AblationRow(label=row, representation=row) for row in rows),
        )
        for name, rows in {
            "components": ["byol", "step", "deaps"],
            "span": ["short", "deaps"],
            "features": ["deaps", "many"],
        }.items()
    )
    scorer = Scorer(Experiment(EXPERIMENT.trained, ablations), "deaps", ["svc"])
    comparators = {family.name: family.comparators for family in scorer.families()}
    assert comparators["components"] == ("byol", "step")
    assert comparators["sizes"] == ("short", "many")


def test_a_benchmark_that_leaks_ranks_nobody() -> None:
    given = {
        AnswerKey(name, seed, None, "made", "svc"): right(share)
        for name, share in (("deaps", 0.5), ("byol", 0.8))
        for seed in (0, 1)
    }
    figures = Scorer(EXPERIMENT, "deaps", ["svc"]).figures(PLANS, given)["made"]
    twin = copy(figures)
    twin.plan = replace(PLAN, benchmark=LeakingTwin())
    found = ranks({"made": figures, "twin": twin}, ["deaps", "byol"])
    assert found is not None
    assert found.by_benchmark.keys() == {"made"}
    assert ranks({"twin": twin}, ["deaps", "byol"]) is None


def test_one_seed_is_followed_along_the_steps() -> None:
    key = AnswerKey("deaps", 0, None, "made", "svc")
    given = {key: right(0.5), key._replace(step=10): right(0.4), key._replace(seed=1): right(0.9)}
    by_step = Scorer(EXPERIMENT, "deaps", ["svc"]).figures_by_step(PLANS, given, {"deaps": 0})
    assert by_step["deaps", "made", "accuracy"] == pytest.approx({10: 0.4, None: 0.5})


def test_where_a_seeds_run_is_missing_the_others_figures_are_used() -> None:
    """Two seeds are planned; of BYOL one is there."""
    shares = {("deaps", 0): 0.5, ("deaps", 1): 0.7, ("byol", 1): 0.8}
    given = {
        AnswerKey(name, seed, None, "made", "svc"): right(share)
        for (name, seed), share in shares.items()
    }
    scorer = Scorer(EXPERIMENT, "deaps", ["svc"])
    figures = scorer.figures(PLANS, given)["made"]
    deaps, byol = (figures.outcome(name).scores[0] for name in ("deaps", "byol"))
    assert (deaps.value, deaps.by_seed) == (pytest.approx(0.6), pytest.approx((0.5, 0.7)))
    assert (byol.value, byol.by_seed) == (pytest.approx(0.8), pytest.approx((0.8,)))
    assert byol.scope is not None
    assert "that of other methods" in byol.scope
    difference = figures.comparisons(scorer.families())[0].differences[0]
    assert (difference.comparator, difference.value) == ("byol", pytest.approx(-0.2))


def test_few_labels_compare_the_reference_with_methods_and_baselines_of_the_first_probe() -> None:
    """Few-label answers of another probe, or folds in full, are not taken for them."""
    runs = {("deaps", 0): 0.9, ("deaps", 1): 0.8, ("byol", 0): 0.5, ("byol", 1): 0.4}
    given: AnswersByKey = {}
    for (name, seed), share in {**runs, ("rr", None): 0.6}.items():
        key = AnswerKey(name, seed, None, "made", "logistic", few_labels=True)
        given[key] = curve_run(share)
        given[key._replace(few_labels=False)] = right(0.1)
    found = Scorer(EXPERIMENT, "deaps", ["logistic"]).few_labels({"made": CURVE_PLAN}, given)
    assert {curve.representation for curve in found.curves} == {"deaps", "byol", "rr"}
    by_comparator = {
        d.comparator: d.value
        for each in found.comparisons
        if (each.people, each.comparison.metric) == (7, "accuracy")
        for d in each.comparison.differences
    }
    assert by_comparator == pytest.approx({"byol": 0.4, "rr": 0.25})
    assert {each.comparison.family for each in found.comparisons} == {"methods", "baselines"}
