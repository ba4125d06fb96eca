"""What changed since the last report: recordings, and figures that moved."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation, FigureChange, RecordingChange, SnapshotChange
from deaps.report.parts import (
    Body,
    Bullets,
    Cell,
    ColumnGroup,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.results import benchmark_title
from deaps.report.wording import percent

_SHOWN = 12
_ID_LENGTH = 12


def change_sections(evaluation: Evaluation) -> tuple[Section, ...]:
    """Return the section, none if there is no earlier report to compare with."""
    change = evaluation.change
    if change is None:
        return ()
    parts: list[Part] = [
        Paragraph(
            f"This report is of snapshot {change.after[:_ID_LENGTH]}. The last one of the same "
            f"experiment, {change.report}, is of snapshot {change.before[:_ID_LENGTH]}. Every "
            "method was trained anew in between."
        ),
        _recordings(evaluation, change),
    ]
    if change.figures:
        parts.append(_table(evaluation, change))
    else:
        parts.append(Paragraph("No figure moved."))
    return (Section("changes", "What changed", tuple(parts)),)


def _recordings(evaluation: Evaluation, change: SnapshotChange) -> Part:
    if not change.recordings:
        return Paragraph("No recording was added, removed or done again: settings changed.")
    return Bullets(tuple(_sentence(evaluation, each) for each in change.recordings))


def _sentence(evaluation: Evaluation, change: RecordingChange) -> str:
    counts = {"added": change.added, "removed": change.removed, "done again": change.redone}
    words = [
        f"{n:,} recording{'' if n == 1 else 's'} {what}" for what, n in counts.items() if n > 0
    ]
    return f"{evaluation.datasets.get(change.dataset, change.dataset)}: {', '.join(words)}"


def _table(evaluation: Evaluation, change: SnapshotChange) -> Table:
    left_out = len(change.figures) - _SHOWN
    more = (f"{left_out} more moved less.",) if left_out > 0 else ()
    return Table(
        id="table-changes",
        caption="Figures that moved, the farthest first, in per cent.",
        corner="benchmark",
        groups=(
            ColumnGroup("", ("representation", "figure"), kind="text"),
            ColumnGroup("", ("before", "after", "difference")),
        ),
        bodies=(Body(tuple(_row(evaluation, figure) for figure in change.figures[:_SHOWN])),),
        notes=more,
    )


def _row(evaluation: Evaluation, figure: FigureChange) -> Row:
    difference = 100 * (figure.after - figure.before)
    cells = (
        Cell(_label(evaluation, figure.representation)),
        Cell(figure.metric),
        Cell(percent(figure.before)),
        Cell(percent(figure.after)),
        Cell(f"{difference:+.1f}"),
    )
    return Row(benchmark_title(evaluation, figure.benchmark), cells)


def _label(evaluation: Evaluation, name: str) -> str:
    labels = {each.name: each.label for each in evaluation.representations}
    return labels.get(name, name)
