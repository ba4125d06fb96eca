"""Columns and cells of tables: a score with its interval, the paper's figure, a gap."""

from __future__ import annotations

from dataclasses import dataclass

from deaps.evaluation.document import BenchmarkRecord, Representation, Score
from deaps.evaluation.metrics import METRICS, metric_title
from deaps.method_registry import DEAPS
from deaps.paper import paper_figure
from deaps.report.parts import Cell
from deaps.report.wording import NOTHING, interval, percent

_PAPER_METHOD = DEAPS.name
"""The paper prints every column for it."""


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A group of columns: metrics of ours, and the paper's figure, if it has one."""

    title: str
    metrics: tuple[str, ...]
    paper_column: str | None

    @property
    def heads(self) -> tuple[str, ...]:
        """Heads of its columns."""
        kinds = [metric.split()[0] for metric in self.metrics]
        ours = tuple(k if k in ("recall", "precision") else "this report" for k in kinds)
        return (*ours, "paper") if self.paper_column is not None else ours


def metric_columns(benchmark: BenchmarkRecord) -> tuple[MetricColumn, ...]:
    """Return the compared metrics, sensitivity and specificity, then each class.

    Only what ours or the paper has.
    """
    measured = {score.metric for outcome in benchmark.outcomes for score in outcome.scores}
    columns = [_column(benchmark, "accuracy", ("accuracy",), {"accuracy"}, "accuracy")]
    named = (*list(METRICS)[1:], "sensitivity", "specificity")
    columns += [_column(benchmark, metric_title(name), (name,), measured, name) for name in named]
    for name in benchmark.classes:
        metrics = (f"recall {name}", f"precision {name}")
        title = _class_title(benchmark, name)
        columns.append(_column(benchmark, title, metrics, measured, name))
    return tuple(column for column in columns if column is not None)


def _column(
    benchmark: BenchmarkRecord, title: str, metrics: tuple[str, ...], measured: set[str], paper: str
) -> MetricColumn | None:
    has_paper = paper_figure(benchmark.name, _PAPER_METHOD, paper) is not None
    if not has_paper and not measured.intersection(metrics):
        return None
    ours = tuple(metric for metric in metrics if metric in measured)
    return MetricColumn(title, ours, paper if has_paper else None)


def _class_title(benchmark: BenchmarkRecord, name: str) -> str:
    tested = benchmark.facts.tested.get(name) if benchmark.facts else None
    return name if tested is None else f"{name} ({tested:,} tested)"


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
