"""One benchmark: its protocol, its examples, and all figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from numpy.typing import NDArray

from deaps.evaluation.document import (
    BenchmarkFacts,
    BenchmarkRecord,
    Evaluation,
    ProbeOutcome,
    Representation,
    Score,
)
from deaps.evaluation.metrics import METRICS, metric_title
from deaps.paper import CLASS_COLUMNS_NOTE, FIGURE_NOTES, YARDSTICKS, paper_figure
from deaps.report.cells import (
    NOT_RUN,
    UNDEFINED,
    MetricColumn,
    metric_columns,
    paper_cell,
    score_cell,
)
from deaps.report.differences import difference_parts
from deaps.report.drawing import line_sign, marker_sign, pixel_axes, points, shortened, text_width
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    LegendEntry,
    Matrices,
    Matrix,
    Notice,
    Panel,
    Paragraph,
    Part,
    Row,
    Section,
    SideBySide,
    Table,
    TermList,
)
from deaps.report.results import (
    ROLE_TITLES,
    accuracy,
    best_methods,
    interval_words,
    missing_seed_notes,
    representation_label,
    representations_of,
    tested_in,
    was_run,
    why_not_run,
)
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, RULE, SeriesStyle, series_styles
from deaps.report.wording import count, counts, percent, percentage, slug

_WIDTH = 440
_ROW = 27
_TOP = 22
_BOTTOM = 40
_LABEL_LENGTH = 24
_GROUP_GAP = 0.5
"""Space between methods and baselines, in rows."""


@dataclass(frozen=True, slots=True)
class AccuracyRow:
    """One representation, in per cent."""

    label: str
    style: SeriesStyle
    group: int
    """Rows of another group stand apart."""
    value: float
    low: float | None
    high: float | None
    folds: tuple[float, ...]
    paper: float | None
    best: bool


def accuracy_plot(rows: Sequence[AccuracyRow], *, majority: float, name: str, label: str) -> Markup:
    """Return a row of dots for each representation, with the majority class as a line."""
    places = _places(rows)
    height = _TOP + _BOTTOM + _ROW * (places[-1] + 1 if len(rows) else 1)

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row.label, _LABEL_LENGTH) for row in rows]
        axes = pixel_axes(figure, left=14 + text_width(labels), right=16, top=_TOP, bottom=_BOTTOM)
        _set_scales(axes, rows, places, labels, majority)
        _draw_majority(axes, majority)
        for row, place in zip(rows, places, strict=True):
            _draw_row(axes, row, place)

    return inline_svg(draw, name=name, label=label, size=(_WIDTH, height))


def _places(rows: Sequence[AccuracyRow]) -> NDArray[np.float64]:
    groups = np.array([row.group for row in rows], dtype=float)
    steps = np.diff(groups, prepend=groups[:1]) != 0
    return np.arange(len(rows)) + _GROUP_GAP * np.cumsum(steps)


def _set_scales(
    axes: Axes,
    rows: Sequence[AccuracyRow],
    places: NDArray[np.float64],
    labels: Sequence[str],
    majority: float,
) -> None:
    shown = [majority]
    for row in rows:
        optional = (row.low, row.high, row.paper)
        shown += [row.value, *row.folds, *(v for v in optional if v is not None)]
    finite = [value for value in shown if np.isfinite(value)]
    low = max(0.0, 10 * np.floor(min(finite) / 10 - 0.1))
    high = min(100.0, 10 * np.ceil(max(finite) / 10 + 0.1))
    axes.set(xlim=(low - 0.5, high + 0.5), ylim=(places[-1] + 0.6, -0.6))
    axes.set_yticks(places, labels)
    axes.tick_params(axis="y", labelcolor=INK)
    axes.set_xlabel("accuracy, per cent")
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    for row, tick in zip(rows, axes.get_yticklabels(), strict=True):
        tick.set_fontweight("bold" if row.best else "normal")


def _draw_majority(axes: Axes, majority: float) -> None:
    axes.axvline(majority, color=MUTED, linewidth=1, dashes=(4, 2))
    left, right = axes.get_xlim()
    share = (majority - left) / (right - left)
    axes.text(
        min(max(share, 0.12), 0.88),
        1.02,
        f"majority class {majority:.1f}",
        transform=axes.transAxes,
        ha="center",
        va="bottom",
        color=MUTED,
        fontsize=10,
    )


def _draw_row(axes: Axes, row: AccuracyRow, place: float) -> None:
    axes.axhline(place, color=RULE, linewidth=0.6, zorder=0.5)
    if len(row.folds) > 1:
        heights = place + fold_offsets(row.folds)
        points(
            axes, row.folds, heights, shape="circle", colour=row.style.colour, size=4, alpha=0.45
        )
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [place, place], color=row.style.colour, linewidth=2.4)
    if row.paper is not None:
        axes.plot([row.paper], [place], marker="d", markersize=8, color=INK, markerfacecolor="none")
    axes.plot([row.value], [place], marker=row.style.marker, markersize=7, color=row.style.colour)


def fold_offsets(
    values: Sequence[float], *, near: float = 2.0, step: float = 0.13
) -> NDArray[np.float64]:
    """Return offsets, in rows, that keep folds of nearly the same accuracy from hiding each other.

    Folds within ``near`` per cent of one already placed move up and down in turn.
    """
    offsets = np.zeros(len(values))
    for place, value in enumerate(values):
        before = sum(abs(value - other) < near for other in values[:place])
        offsets[place] = step * ((before + 1) // 2) * (-1 if before % 2 else 1)
    return np.clip(offsets, -0.4, 0.4)


_PAPER_NOTES = (FIGURE_NOTES, YARDSTICKS)


def benchmark_section(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Section:
    """Return the section of a benchmark; if it was not run, the section says why."""
    parts: list[Part] = [Paragraph(benchmark.protocol)]
    if not was_run(benchmark):
        sentence = why_not_run(benchmark)
        parts.append(Notice(sentence[0].upper() + sentence[1:]))
    parts += [Notice(text) for text in (benchmark.leak, benchmark.seen) if text]
    if benchmark.facts:
        parts.append(TermList(_terms(benchmark.facts)))
    parts.append(_table(evaluation, benchmark))
    if was_run(benchmark):
        parts += _drawn(evaluation, benchmark)
    return Section(f"benchmark-{slug(benchmark.name)}", benchmark.title, tuple(parts))


def _drawn(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[Part]:
    rows = _accuracy_rows(evaluation, benchmark)
    figures: list[Part] = [_accuracy_figure(benchmark, rows)] if rows else []
    parts: list[Part] = [SideBySide((*figures, _matrices(evaluation, benchmark)))]
    if any(len(outcome.folds) > 1 for outcome in benchmark.outcomes):
        parts.append(_folds_table(evaluation, benchmark))
    parts += difference_parts(evaluation, benchmark)
    return [*parts, *other_probe_tables(evaluation, benchmark)]


def _terms(facts: BenchmarkFacts) -> tuple[tuple[str, tuple[str, ...]], ...]:
    entries = {
        "examples": counts(facts.examples),
        "windows": counts(facts.windows),
        "tested": counts(facts.tested),
        "subjects": count(facts.subjects),
        "folds": count(facts.folds),
        "majority class": percentage(facts.majority),
        "quality rule": facts.quality_rule,
        "label version": facts.label_version or "",
        "seed": str(facts.seed),
    }
    terms: list[tuple[str, tuple[str, ...]]]
    terms = [(term, (text,)) for term, text in entries.items() if text]
    if facts.removed:
        terms.append(("left out", facts.removed))
    return tuple(terms)


def _table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    columns = metric_columns(benchmark)
    groups = tuple(ColumnGroup(column.title, column.heads) for column in columns)
    has_classes = any(column.paper_column not in (None, "accuracy") for column in columns)
    return Table(
        id=f"table-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: all figures, next to the paper's.",
        corner="",
        groups=groups,
        bodies=_bodies(evaluation, benchmark, columns),
        notes=(
            _note(benchmark),
            *missing_seed_notes(evaluation, "method", "ablation"),
            *((CLASS_COLUMNS_NOTE,) if has_classes else ()),
            *(notes[benchmark.name] for notes in _PAPER_NOTES if benchmark.name in notes),
            *filter(None, (benchmark.leak, benchmark.seen)),
        ),
    )


def _note(benchmark: BenchmarkRecord) -> str:
    dash = "A dash: undefined, or not in the paper."
    if not was_run(benchmark):
        return f"All figures are per cent. {dash}"
    deviation = (
        "± is the population standard deviation over folds. " if _has_deviation(benchmark) else ""
    )
    return (
        "All figures are per cent, means over seeds. Brackets hold the 95 % confidence interval "
        f"{interval_words([benchmark])}. {deviation}★ and bold type mark the method with the "
        f"highest total accuracy. {dash}"
    )


def _has_deviation(benchmark: BenchmarkRecord) -> bool:
    return any(s.deviation is not None for outcome in benchmark.outcomes for s in outcome.scores)


def _bodies(
    evaluation: Evaluation, benchmark: BenchmarkRecord, columns: tuple[MetricColumn, ...]
) -> tuple[Body, ...]:
    bodies = []
    for role, title in ROLE_TITLES.items():
        if role == "ablation" and not was_run(benchmark):
            continue
        rows = tuple(
            Row(representation.label, _cells(evaluation, benchmark, columns, representation))
            for representation in representations_of(evaluation, role)
        )
        if rows:
            bodies.append(Body(rows, title=title))
    if benchmark.facts:
        width = sum(len(column.heads) for column in columns)
        cells = (Cell(percent(benchmark.facts.majority)), *[UNDEFINED] * (width - 1))
        bodies.append(Body((Row("majority class", cells),)))
    return tuple(bodies)


def _cells(
    evaluation: Evaluation,
    benchmark: BenchmarkRecord,
    columns: tuple[MetricColumn, ...],
    representation: Representation,
) -> tuple[Cell, ...]:
    outcome = benchmark.outcome(representation.name)
    best = representation.name in best_methods(evaluation, benchmark)
    cells: list[Cell] = []
    for column in columns:
        for metric in column.metrics:
            is_best = best and metric == "accuracy"
            score = outcome.score(metric) if outcome else None
            cells.append(score_cell(score, best=is_best) if outcome else NOT_RUN)
        if column.paper_column is not None:
            cells.append(paper_cell(benchmark, representation, column.paper_column))
    return tuple(cells)


def _folds_table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    """Return the accuracy of each representation in each fold."""
    tested = tested_in(evaluation, benchmark)
    by_name = {
        outcome.representation: {fold.name: fold for fold in outcome.folds}
        for outcome in benchmark.outcomes
    }
    sizes = {fold.name: fold.n for outcome in benchmark.outcomes for fold in outcome.folds}
    rows = []
    for name, n in sizes.items():
        folds = [by_name[entry.name].get(name) for entry in tested]
        cells = [Cell(percent(fold.accuracy if fold else None)) for fold in folds]
        rows.append(Row(name, (Cell(count(n)), *cells)))
    return Table(
        id=f"table-folds-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: accuracy of each fold, in per cent.",
        corner="fold",
        groups=(ColumnGroup("", ("tested", *(entry.label for entry in tested))),),
        bodies=(Body(tuple(rows)),),
        folded=True,
    )


def _accuracy_figure(benchmark: BenchmarkRecord, rows: list[AccuracyRow]) -> Figure:
    name = f"figure-{slug(benchmark.name)}"
    has_folds = any(len(row.folds) > 1 for row in rows)
    has_paper = any(row.paper is not None for row in rows)
    majority = benchmark.facts.majority if benchmark.facts else 0.0
    best = " and ".join(row.label for row in rows if row.best)
    label = (
        f"Accuracy of {len(rows)} representations in {benchmark.title}; "
        f"most accurate method: {best}"
    )
    svg = accuracy_plot(rows, majority=100 * majority, name=name, label=label)
    return Figure(
        id=name,
        caption=f"{benchmark.title}: total accuracy.",
        panels=(Panel(svg),),
        legend=_accuracy_legend(name, folds=has_folds, paper=has_paper),
    )


def _accuracy_legend(name: str, *, folds: bool, paper: bool) -> tuple[LegendEntry, ...]:
    entries = [
        LegendEntry(marker_sign("o", INK, name=f"{name}-here"), "this report"),
        LegendEntry(line_sign(INK, name=f"{name}-interval"), "95 % confidence interval"),
    ]
    if folds:
        entries.append(LegendEntry(marker_sign(".", MUTED, name=f"{name}-fold"), "one fold"))
    if paper:
        sign = marker_sign("d", INK, name=f"{name}-paper", filled=False)
        entries.append(LegendEntry(sign, "paper"))
    return tuple(entries)


def _accuracy_rows(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[AccuracyRow]:
    styles = series_styles(evaluation.representations)
    best = best_methods(evaluation, benchmark)
    rows = []
    for group, role in enumerate(ROLE_TITLES):
        for representation in representations_of(evaluation, role):
            outcome = benchmark.outcome(representation.name)
            score = accuracy(benchmark, representation.name)
            if outcome is None or score is None:
                continue
            printed = paper_figure(benchmark.name, representation.name, "accuracy")
            rows.append(
                AccuracyRow(
                    label=representation.label,
                    style=styles[representation.name],
                    group=group,
                    value=100 * score.value,
                    low=None if score.low is None else 100 * score.low,
                    high=None if score.high is None else 100 * score.high,
                    folds=tuple(100 * fold.accuracy for fold in outcome.folds),
                    paper=printed.value if printed else None,
                    best=representation.name in best,
                )
            )
    return rows


def _matrices(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Matrices:
    matrices = tuple(
        Matrix(representation.label, benchmark.classes, outcome.confusion)
        for role in ROLE_TITLES
        for representation in representations_of(evaluation, role)
        if (outcome := benchmark.outcome(representation.name))
    )
    return Matrices(
        id=f"confusion-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: confusion matrices over all folds. Rows are the true "
        "classes, columns the predicted ones. Each cell gives the share of its row in per cent, "
        "and the count below.",
        matrices=matrices,
    )


def other_probe_tables(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[Part]:
    """Return the figures with other classifiers, and those of each seed; only what there is."""
    tables: list[Part] = []
    if benchmark.probes:
        tables.append(_probe_table(evaluation, benchmark))
    if any(len(score.by_seed) > 1 for outcome in benchmark.outcomes for score in outcome.scores):
        tables.append(_seed_table(evaluation, benchmark))
    return tables


def _probe_table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    probes = list(dict.fromkeys(outcome.probe for outcome in benchmark.probes))
    found = {(o.probe, o.representation): o for o in benchmark.probes}
    measured = {score.metric for outcome in benchmark.probes for score in outcome.scores}
    metrics = [metric for metric in METRICS if metric in measured]
    names = dict.fromkeys(outcome.representation for outcome in benchmark.probes)
    rows = tuple(
        Row(
            representation_label(evaluation, name),
            tuple(
                score_cell(_score(found.get((probe, name)), metric))
                for probe in probes
                for metric in metrics
            ),
        )
        for name in names
    )
    heads = tuple(metric_title(metric) for metric in metrics)
    return Table(
        id=f"table-probes-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: the same with other classifiers, in per cent.",
        corner="",
        groups=tuple(ColumnGroup(probe, heads) for probe in probes),
        bodies=(Body(rows),),
        folded=True,
    )


def _score(outcome: ProbeOutcome | None, metric: str) -> Score | None:
    scores = outcome.scores if outcome else ()
    return next((score for score in scores if score.metric == metric), None)


def _seed_table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    metrics = [m for m in METRICS if any(o.score(m) for o in benchmark.outcomes)]
    most = max(len(s.by_seed) for o in benchmark.outcomes for s in o.scores)
    rows = []
    for outcome in benchmark.outcomes:
        cells: list[Cell] = []
        for metric in metrics:
            score = outcome.score(metric)
            values = score.by_seed if score else ()
            cells += [Cell(percent(value)) for value in values]
            cells += [UNDEFINED] * (most - len(values))
        rows.append(Row(representation_label(evaluation, outcome.representation), tuple(cells)))
    heads = tuple(f"run {k + 1}" for k in range(most))
    return Table(
        id=f"table-seeds-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: each seed's figures, in per cent.",
        corner="",
        groups=tuple(ColumnGroup(metric_title(metric), heads) for metric in metrics),
        bodies=(Body(tuple(rows)),),
        folded=True,
    )
