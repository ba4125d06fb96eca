"""Which figure_data there are, and why others are absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.features import FeatureSource
from deaps.evaluation.representations import FeatureFile
from deaps.report.figure_data import FigureDataMaker, FiguresByStep

PLANS: dict[str, Any] = {"challenge2017": None}


def maker(steps: dict[str, list[int]]) -> tuple[FigureDataMaker, FiguresByStep]:
    """Return a maker for methods with encoders of some steps, and their figures."""
    files = [
        FeatureFile(name, 0, step if step != max(own) else None, source(step), Path())
        for name, own in steps.items()
        for step in own
    ]
    figures = {
        (name, "challenge2017", "accuracy"): {
            step if step != max(own) else None: 0.5 for step in own
        }
        for name, own in steps.items()
        if len(own) > 1
    }
    nothing: Any = None
    return FigureDataMaker(
        nothing, nothing, PLANS, files, methods=list(steps), seed=0, labels=DatasetLabels()
    ), figures


def source(step: int) -> FeatureSource:
    return FeatureSource("encoder", "recording", Path(f"step-{step:08d}.safetensors"))


def test_a_method_with_one_encoder_alone_is_named_as_absent_from_the_evolution() -> None:
    made, figures = maker({"byol": [0, 3, 6], "tf-c": [6]})
    assert [(e.representation, e.steps) for e in made.evolution(figures)] == [("byol", (0, 3, 6))]
    assert made.absent == [
        "evolution of tf-c: only its last encoder was kept (training.last_encoder_only)"
    ]


def test_without_any_earlier_encoder_the_whole_figure_is_absent() -> None:
    made, figures = maker({"byol": [6], "tf-c": [6]})
    assert made.evolution(figures) == ()
    assert made.absent == ["evolution: no earlier encoder files of a method were evaluated"]
