"""Cells that several tables share: a score with its interval, the paper's figure, a gap."""

from __future__ import annotations

from deaps.evaluation.document import BenchmarkRecord, Representation, Score
from deaps.paper import paper_figure
from deaps.report.parts import Cell
from deaps.report.wording import NOTHING, interval, percent

NOT_RUN = Cell("not run", missing=True)
UNDEFINED = Cell(NOTHING, missing=True)


def accuracy_cell(score: Score | None, *, best: bool = False) -> Cell:
    """Return an accuracy with its interval, or "not run" without a score."""
    return score_cell(score, best=best) if score else NOT_RUN


def score_cell(score: Score | None, *, best: bool = False) -> Cell:
    """Return a score, with its interval and its deviation over folds in the note."""
    if score is None:
        return UNDEFINED
    deviation = f"± {percent(score.deviation)}" if score.deviation is not None else ""
    note = " ".join(filter(None, (interval(score.low, score.high), deviation)))
    return Cell(percent(score.value), note=note, best=best)


def paper_cell(benchmark: BenchmarkRecord, representation: Representation, column: str) -> Cell:
    """Return the paper's figure for this method, or a dash if the paper has none."""
    printed = paper_figure(benchmark.name, representation.name, column)
    if printed is None:
        return UNDEFINED
    # As printed: one figure has two decimals there.
    deviation = f"± {printed.deviation}" if printed.deviation is not None else ""
    return Cell(f"{printed.value:.1f}", note=deviation)
