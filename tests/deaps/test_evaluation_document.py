"""The evaluation's document: what is written is read again, and numbers are numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from deaps.evaluation.document import (
    Component,
    Evaluation,
    Score,
    read_evaluation,
    write_evaluation,
)
from tests.deaps.report.made_evaluation import made_evaluation


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return made_evaluation()


def test_it_survives_its_file(evaluation: Evaluation, tmp_path: Path) -> None:
    write_evaluation(evaluation, tmp_path)
    assert read_evaluation(tmp_path) == evaluation


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(ValidationError, match="finite number"):
        Score(metric="accuracy", value=value, n=1)
    with pytest.raises(ValidationError, match="finite number"):
        Component(
            explained=0.5, ks=0.1, auc=0.6, grid=(0.0, value), afib=(0.0, 1.0), normal=(0.0, 1.0)
        )


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Score.model_validate({"metric": "accuracy", "value": 0.5, "n": 1, "mean": 0.5})
