"""What changed between two snapshots: recordings, and the figures that moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import duckdb

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
from deaps.report.results import benchmark_title, representation_label
from deaps.report.wording import percent

RecordingDigests = Mapping[tuple[str, str], str]
"""Digest of each recording's windows, by data set and name; empty for a quarantined one."""

_DIGESTS = "SELECT dataset, name, coalesce(digest, '') FROM recordings"
_SAME = 5e-5
"""Figures nearer than this read the same in a report."""


def recording_digests(index: duckdb.DuckDBPyConnection) -> RecordingDigests:
    """Return the digests of a snapshot's recordings."""
    rows = index.execute(_DIGESTS).fetchall()
    return {(dataset, name): digest for dataset, name, digest in rows}


def describe_change(
    before: Evaluation,
    after: Evaluation,
    digests_before: RecordingDigests,
    digests_after: RecordingDigests,
) -> SnapshotChange:
    """Return what changed from one evaluation's snapshot to that of a later one."""
    return SnapshotChange(
        report=before.id,
        before=before.provenance.snapshot_id,
        after=after.provenance.snapshot_id,
        recordings=tuple(compare_recordings(digests_before, digests_after)),
        figures=tuple(compare_figures(before, after)),
    )


def compare_recordings(
    before: RecordingDigests, after: RecordingDigests
) -> Iterator[RecordingChange]:
    """Yield the data sets in which recordings were added, removed or done again."""
    nothing = {"added": 0, "removed": 0, "redone": 0}
    counts: dict[str, dict[str, int]] = defaultdict(nothing.copy)
    for key in before.keys() | after.keys():
        if key not in before:
            counts[key[0]]["added"] += 1
        elif key not in after:
            counts[key[0]]["removed"] += 1
        elif before[key] != after[key]:
            counts[key[0]]["redone"] += 1
    for dataset in sorted(counts):
        yield RecordingChange(dataset=dataset, **counts[dataset])


def compare_figures(before: Evaluation, after: Evaluation) -> list[FigureChange]:
    """Return the figures of both evaluations that differ, the largest difference first."""
    earlier = _figures(before)
    moved = [
        FigureChange(
            benchmark=key[0],
            representation=key[1],
            metric=key[2],
            before=earlier[key],
            after=value,
        )
        for key, value in _figures(after).items()
        if key in earlier and abs(value - earlier[key]) >= _SAME
    ]
    return sorted(moved, key=lambda figure: -abs(figure.after - figure.before))


def _figures(evaluation: Evaluation) -> dict[tuple[str, str, str], float]:
    return {
        (benchmark.name, outcome.representation, score.metric): score.value
        for benchmark in evaluation.benchmarks
        for outcome in benchmark.outcomes
        for score in outcome.scores
    }


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
            "method was trained again in between."
        ),
        _recordings(evaluation, change),
    ]
    if change.figures:
        parts.append(_table(evaluation, change))
    else:
        parts.append(Paragraph("No figure changed."))
    return (Section("changes", "What changed", tuple(parts)),)


def _recordings(evaluation: Evaluation, change: SnapshotChange) -> Part:
    if not change.recordings:
        return Paragraph("No recording was added, removed or reprocessed: settings changed.")
    return Bullets(tuple(_sentence(evaluation, each) for each in change.recordings))


def _sentence(evaluation: Evaluation, change: RecordingChange) -> str:
    counts = {"added": change.added, "removed": change.removed, "reprocessed": change.redone}
    words = [
        f"{n:,} recording{'' if n == 1 else 's'} {what}" for what, n in counts.items() if n > 0
    ]
    return f"{evaluation.datasets.get(change.dataset, change.dataset)}: {', '.join(words)}"


def _table(evaluation: Evaluation, change: SnapshotChange) -> Table:
    left_out = len(change.figures) - _SHOWN
    more = (f"{left_out} smaller changes are not shown.",) if left_out > 0 else ()
    return Table(
        id="table-changes",
        caption="Changed figures, the largest change first, in per cent.",
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
        Cell(representation_label(evaluation, figure.representation)),
        Cell(figure.metric),
        Cell(percent(figure.before)),
        Cell(percent(figure.after)),
        Cell(f"{difference:+.1f}"),
    )
    return Row(benchmark_title(evaluation, figure.benchmark), cells)
