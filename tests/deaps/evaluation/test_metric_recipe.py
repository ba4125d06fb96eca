"""The recipe for a metric: a formula and a line of the table, and it is in document and report."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from deaps.evaluation import metrics
from deaps.evaluation.document import Evaluation
from deaps.evaluation.metrics import METRICS, Metric
from deaps.report.page import report_sections
from flows.config import load_settings
from flows.experiment.state import result_rows
from tests.deaps.benchmarks.overrides import SMALL_EXPERIMENT
from tests.deaps.evaluation.labelled_store import make_labelled_store
from tests.deaps.report.part_lookup import table
from tests.flows.inline_evaluation import evaluate_inline, one_worker, train_some


def youden(confusion: ArrayLike) -> NDArray[np.float64]:
    """Return Youden's J: sensitivity + specificity - 1."""
    return metrics.recall(confusion).sum(axis=-1) - 1


@pytest.fixture
def evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluation:
    added = Metric("youden", "Youden's J", partial(metrics._of_confusion, youden), low=-1)
    monkeypatch.setitem(METRICS, added.name, added)
    root = make_labelled_store(tmp_path)
    settings = load_settings(
        overrides=[f"store.root={root}", "experiment.reference=byol", *SMALL_EXPERIMENT]
    )
    train_some(settings, "byol")
    with one_worker() as client:
        return evaluate_inline(settings, client)[0]


def test_a_metric_of_the_table_is_computed_compared_and_shown(evaluation: Evaluation) -> None:
    (benchmark,) = [b for b in evaluation.benchmarks if b.name == "gender"]
    for outcome in benchmark.outcomes:
        recalls = [outcome.score(f"recall {name}") for name in benchmark.classes]
        score = outcome.score("youden")
        if score is None or score.value is None or None in recalls:
            continue
        sensitivity_and_specificity = sum(r.value or 0.0 for r in recalls if r is not None)
        assert score.value == pytest.approx(sensitivity_and_specificity - 1, abs=1e-9)
        assert score.low is not None
        assert -1 <= score.low <= score.value
    assert benchmark.comparison("baselines", "youden") is not None
    sections = report_sections(evaluation)
    shown = table(sections, "table-gender")
    assert "Youden's J" in [group.title for group in shown.groups]
    compared = table(sections, "table-differences-gender")
    assert "Youden's J" in [group.title for group in compared.groups]
    assert "youden" in {row["metric"] for row in result_rows(evaluation)}
