"""Tables of the shipped encoder's card: whose answers a figure comes from, and against whom."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from deaps.evaluation.answers import AnswerKey, AnswersByKey
from deaps.evaluation.plan import Plan
from deaps.evaluation.probes import Answers
from deaps.experiment import RunKey
from deaps.models.encoder_file import SHIPPED
from experiments.open.encoder_tables import (
    COMPARATORS,
    ROWS,
    SHOWN,
    EncoderComparison,
    majority_answers,
)
from tests.deaps.evaluation.labelled_store import made_examples
from tests.deaps.evaluation.outcomes.test_figures import (
    ThreeClasses,
    TwoClasses,
    plan_of,
    two_folds,
)

RNG = np.random.default_rng(3)
SUBJECTS = [f"s{i // 5:02d}" for i in range(60)]


def plans() -> dict[str, Plan]:
    made = {}
    for name in dict.fromkeys(row.benchmark for row in ROWS):
        kind = ThreeClasses if name == "challenge2017" else TwoClasses
        # The first class is more frequent on either side of both folds.
        labels = np.tile([0, 0, 0, 1, len(kind.classes) - 1], 12)
        made[name] = plan_of(kind, made_examples(labels.tolist(), SUBJECTS), two_folds())
    return made


def answered(plan: Plan, share_right: float, rng: np.random.Generator) -> list[Answers]:
    truths = (plan.examples.labels[fold.test] for fold in plan.folds)
    n_classes = len(plan.benchmark.classes)
    answers = []
    for truth in truths:
        right = rng.random(len(truth)) < share_right
        labels = np.where(right, truth, (truth + 1) % n_classes).astype(np.int8)
        answers.append(Answers(labels, np.eye(n_classes)[labels]))
    return answers


@pytest.fixture
def comparison() -> EncoderComparison:
    """An encoder that is always right, beside a run of the same method that never is."""
    shares = {("deaps", 0): 0.0, ("deaps", 1): 1.0, ("shipped", None): 0.5, ("rr", None): 0.6,
              ("random", 0): 0.2, ("random", 1): 0.4, ("classical", None): 0.9}  # fmt: skip
    given: AnswersByKey = {}
    made = plans()
    for benchmark, plan in made.items():
        for (name, seed), share in shares.items():
            key = AnswerKey(name, seed, None, benchmark, "svc")
            given[key] = answered(plan, share, RNG)
            given[key._replace(probe="neighbours")] = answered(plan, 0.1, RNG)
            given[key._replace(few_labels=True)] = answered(plan, 0.1, RNG)
            given[key._replace(step=500)] = answered(plan, 0.1, RNG)
    return EncoderComparison(made, given, RunKey("deaps", 1))


def cells(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_the_figures_are_those_of_the_chosen_seed(comparison: EncoderComparison) -> None:
    for row in cells(comparison.figures_table()):
        assert row[1].startswith("100.0 ")
    other = replace(comparison, chosen=RunKey("deaps", 0))
    assert cells(other.figures_table())[2][1].startswith("0.0 ")


def test_a_random_encoders_figure_is_the_mean_over_its_seeds(comparison: EncoderComparison) -> None:
    row, place = ROWS[2], 1 + list(SHOWN).index("random")
    plan = comparison.plans[row.benchmark]
    own = []
    for seed in (0, 1):
        answers = comparison.answers[AnswerKey("random", seed, None, row.benchmark, "svc")]
        own += [
            np.mean(given.labels == plan.examples.labels[fold.test])
            for fold, given in zip(plan.folds, answers, strict=True)
        ]
    assert cells(comparison.figures_table())[2][place].split()[0] == f"{100 * np.mean(own):.1f}"


def test_the_majority_class_is_answered_always_and_ranks_nobody() -> None:
    plan = plans()["challenge2017"]
    for fold, answers in zip(plan.folds, majority_answers(plan), strict=True):
        assert answers.labels.tolist() == [0] * len(fold.test)
    place = 1 + list(SHOWN).index("majority class")
    made = EncoderComparison(plans(), perfect(), RunKey("deaps", 0))
    auroc, accuracy = cells(made.figures_table())[:2]
    assert auroc[place].split()[0] == "50.0"
    assert accuracy[place].split()[0] == "60.0"


def perfect() -> AnswersByKey:
    given = {}
    for benchmark, plan in plans().items():
        for name in ("deaps", "shipped", "rr", "random", "classical"):
            key = AnswerKey(
                name, 0 if name in ("deaps", "random") else None, None, benchmark, "svc"
            )
            given[key] = answered(plan, 1.0, RNG)
    return given


def test_a_difference_is_this_encoder_less_the_comparator(comparison: EncoderComparison) -> None:
    figures, differences = comparison.figures_table(), comparison.differences_table()
    for figure_row, row in zip(cells(figures), cells(differences), strict=True):
        value = dict(zip(SHOWN, figure_row[1:], strict=True))
        for comparator, cell in zip(COMPARATORS, row[1:], strict=True):
            expected = float(value["this encoder"].split()[0]) - float(value[comparator].split()[0])
            assert float(cell.split()[0].replace("−", "-")) == pytest.approx(expected, abs=0.11)


def test_a_difference_that_counts_says_so(comparison: EncoderComparison) -> None:
    accuracy = cells(comparison.differences_table())[2]
    assert accuracy[1].endswith("**significant**")


def test_the_card_has_a_place_for_both_tables() -> None:
    card = (SHIPPED / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"<!-- table (\S+) -->", card) == ["figures", "differences"]
