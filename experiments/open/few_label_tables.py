"""Tables of the open experiment by the number of annotated people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deaps.evaluation.document import Difference, Evaluation, FewLabelCurve
from experiments.open.marked_tables import (
    CHALLENGE,
    CHALLENGE_F1,
    TRANSFER,
    TRANSFER_ACCURACY,
    Column,
    as_table,
    difference_cell,
    figure_cell,
)

AT_FEW_LABELS = (
    TRANSFER_ACCURACY,
    Column("afib-transfer", "balanced accuracy", "AFib, transfer: balanced accuracy"),
    TRANSFER,
    CHALLENGE,
    Column("challenge2017", "balanced accuracy", "Challenge 2017: balanced accuracy"),
    CHALLENGE_F1,
)


def few_labels(evaluation: Evaluation) -> str:
    """Return figures by the number of annotated people, a table for each benchmark and metric."""
    tables = []
    for column in AT_FEW_LABELS:
        curves = [c for c in evaluation.few_labels if (c.benchmark, c.metric) == column[:2]]
        if curves:
            tables.append(_curves(evaluation, column.head, curves))
    return "\n\n".join(tables)


def few_label_differences(evaluation: Evaluation) -> str:
    """Return the reference less every other, a row for each number of annotated people."""
    tables = []
    for column in AT_FEW_LABELS:
        by_people: dict[int, dict[str, Difference]] = {}
        for each in evaluation.few_label_comparisons:
            if (each.benchmark, each.comparison.metric) == column[:2]:
                own = by_people.setdefault(each.people, {})
                own.update({d.comparator: d for d in each.comparison.differences})
        if by_people:
            tables.append(_differences_by_people(evaluation, column.head, by_people))
    return "\n\n".join(tables)


def _differences_by_people(
    evaluation: Evaluation, head: str, by_people: Mapping[int, Mapping[str, Difference]]
) -> str:
    comparators = list(
        dict.fromkeys(comparator for own in by_people.values() for comparator in own)
    )
    labels = [evaluation.representation(comparator).label for comparator in comparators]
    lines = [
        [f"{people:,}", *(difference_cell(own.get(comparator)) for comparator in comparators)]
        for people, own in sorted(by_people.items())
    ]
    return as_table([f"{head}; DEAPS minus", *labels], lines)


def _curves(evaluation: Evaluation, head: str, curves: Sequence[FewLabelCurve]) -> str:
    people = sorted({point.people for curve in curves for point in curve.points})
    lines = []
    for curve in curves:
        points_by_people = {point.people: point for point in curve.points}
        label = evaluation.representation(curve.representation).label
        lines.append([label, *(figure_cell(points_by_people.get(n)) for n in people)])
    return as_table([head, *(f"{n:,}" for n in people)], lines)
