"""Which exhibits there are, and why others are absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deaps.evaluation import Outcome, Score
from deaps.exhibits.collection import ExhibitMaker
from deaps.probing.comparison import OutcomeKey, Outcomes
from deaps.probing.feature_source import FeatureSource
from deaps.probing.representations import FeatureFile

PLANS: dict[str, Any] = {"challenge2017": None}


def maker(steps: dict[str, list[int]]) -> tuple[ExhibitMaker, Outcomes]:
    """Return a maker for methods with encoders of some steps, and their outcomes."""
    files = [
        FeatureFile(name, step if step != max(own) else None, source(step), Path())
        for name, own in steps.items()
        for step in own
    ]
    outcomes = {
        OutcomeKey(file.representation, file.step, "challenge2017"): outcome(file.representation)
        for file in files
    }
    nothing: Any = None
    return ExhibitMaker(
        nothing, nothing, PLANS, files, methods=list(steps), labels={}, seed=0
    ), outcomes


def source(step: int) -> FeatureSource:
    return FeatureSource("encoder", "recording", Path(f"step-{step:08d}.safetensors"))


def outcome(name: str) -> Outcome:
    score = Score(metric="accuracy", value=0.5, n=2)
    return Outcome(representation=name, scores=(score,), confusion=((1, 1),), folds=())


def test_a_method_with_one_encoder_alone_is_named_as_absent_from_the_evolution() -> None:
    made, outcomes = maker({"byol": [0, 3, 6], "tf-c": [6]})
    assert [(e.representation, e.steps) for e in made.evolution(outcomes)] == [("byol", (0, 3, 6))]
    assert made.absent == [
        "evolution of tf-c: only its last encoder was kept (training.last_encoder_only)"
    ]


def test_without_any_earlier_encoder_the_whole_exhibit_is_absent() -> None:
    made, outcomes = maker({"byol": [6], "tf-c": [6]})
    assert made.evolution(outcomes) == ()
    assert made.absent == ["evolution: no earlier encoder files of a method were evaluated"]
