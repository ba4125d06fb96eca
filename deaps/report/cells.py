"""Cells of several tables: a score with its interval, the paper's figure, what is missing."""

from __future__ import annotations

from deaps.evaluation import Representation, Score
from deaps.paper import paper_figure
from deaps.report.parts import Cell
from deaps.report.wording import NOTHING, interval, percent

NOT_RUN = Cell("not run", missing=True)
UNDEFINED = Cell(NOTHING, missing=True)


def accuracy_cell(score: Score | None, *, best: bool = False) -> Cell:
    """Return an accuracy with its interval; without one the cell says that it was not run."""
    return score_cell(score, best=best) if score else NOT_RUN


def score_cell(score: Score | None, *, best: bool = False) -> Cell:
    """Return a score with its interval and its deviation over folds below."""
    if score is None:
        return UNDEFINED
    deviation = f"± {percent(score.deviation)}" if score.deviation is not None else ""
    note = " ".join(filter(None, (interval(score.low, score.high), deviation)))
    return Cell(percent(score.value), note=note, best=best)


def paper_cell(benchmark: str, one: Representation, column: str) -> Cell:
    """Return what the paper prints for this method, a dash where it prints nothing."""
    printed = paper_figure(benchmark, one.name, column) if one.role == "method" else None
    if printed is None:
        return UNDEFINED
    # As printed: one figure has two decimals there.
    deviation = f"± {printed.deviation}" if printed.deviation is not None else ""
    return Cell(f"{printed.value:.1f}", note=deviation)
