"""What changed between two snapshots: recordings, and the figures that moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import duckdb

from deaps.evaluation.document import Evaluation, FigureChange, RecordingChange, SnapshotChange

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
