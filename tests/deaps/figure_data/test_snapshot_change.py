from __future__ import annotations

from deaps.evaluation.document import Evaluation, FigureChange, RecordingChange
from deaps.report.change import (
    change_sections,
    compare_figures,
    compare_recordings,
    describe_change,
)
from deaps.report.page import report_sections
from tests.deaps.report.made_evaluation import made_evaluation

BEFORE = {("shhs", "a"): "1", ("shhs", "b"): "2", ("mitdb", "100"): "3"}


def moved(evaluation: Evaluation, by: float) -> Evaluation:
    """Return the evaluation with the first figure moved, on another snapshot."""
    benchmark = next(each for each in evaluation.benchmarks if each.outcomes)
    outcome = benchmark.outcomes[0]
    score = outcome.scores[0]
    scores = (score.model_copy(update={"value": score.value + by}), *outcome.scores[1:])
    outcomes = (outcome.model_copy(update={"scores": scores}), *benchmark.outcomes[1:])
    changed = benchmark.model_copy(update={"outcomes": outcomes})
    benchmarks = [changed if each is benchmark else each for each in evaluation.benchmarks]
    provenance = evaluation.provenance.model_copy(update={"snapshot_id": "f" * 64})
    return evaluation.model_copy(update={"benchmarks": tuple(benchmarks), "provenance": provenance})


def test_recordings_are_added_removed_and_redone() -> None:
    after = {("shhs", "a"): "1", ("shhs", "b"): "9", ("shhs", "c"): "4", ("afdb", "x"): "5"}
    assert list(compare_recordings(BEFORE, after)) == [
        RecordingChange(dataset="afdb", added=1, removed=0, redone=0),
        RecordingChange(dataset="mitdb", added=0, removed=1, redone=0),
        RecordingChange(dataset="shhs", added=1, removed=0, redone=1),
    ]


def test_equal_snapshots_differ_in_nothing() -> None:
    assert list(compare_recordings(BEFORE, BEFORE)) == []
    assert compare_figures(made_evaluation(), made_evaluation()) == []


def test_only_figures_that_moved_are_named() -> None:
    before = made_evaluation()
    (figure,) = compare_figures(before, moved(before, -0.05))
    assert isinstance(figure, FigureChange)
    assert round(figure.after - figure.before, 6) == -0.05
    assert compare_figures(before, moved(before, 1e-6)) == []


def test_the_report_names_both_snapshots_and_what_changed() -> None:
    before = made_evaluation()
    after = moved(before, -0.05)
    change = describe_change(before, after, BEFORE, BEFORE | {("shhs", "c"): "4"})
    (section,) = change_sections(after.model_copy(update={"change": change}))
    text = str(section.parts)
    assert before.provenance.snapshot_id[:12] in text
    assert "ffffffffffff" in text
    assert "1 recording added" in text
    assert "-5.0" in text


def test_without_an_earlier_report_there_is_no_such_section() -> None:
    assert "changes" not in {section.id for section in report_sections(made_evaluation())}
