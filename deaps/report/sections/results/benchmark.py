"""One benchmark: its protocol, its examples, and all figures."""

from __future__ import annotations

from deaps.evaluation.document import BenchmarkFacts, BenchmarkRecord, Evaluation, Representation
from deaps.paper import CLASS_COLUMNS_NOTE, FIGURE_NOTES, YARDSTICKS, paper_figure
from deaps.report.cells import NOT_RUN, UNDEFINED, paper_cell, score_cell
from deaps.report.columns import MetricColumn, metric_columns
from deaps.report.figures.accuracy import AccuracyRow, accuracy_plot
from deaps.report.figures.signs import line_sign, marker_sign
from deaps.report.parts import (
    Beside,
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
    Table,
    TermList,
)
from deaps.report.results import (
    ROLE_TITLES,
    accuracy,
    best_methods,
    interval_words,
    missing_seed_notes,
    representations_of,
    tested_in,
    was_run,
    why_not_run,
)
from deaps.report.sections.results.differences import difference_parts
from deaps.report.sections.results.other_probes import other_probe_tables
from deaps.report.theme import INK, MUTED, series_styles
from deaps.report.wording import count, counts, percent, percentage, slug

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
    parts: list[Part] = [Beside((*figures, _matrices(evaluation, benchmark)))]
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
        caption=f"{benchmark.title}: all figures, beside the paper's.",
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
        LegendEntry(marker_sign("o", INK, name=f"{name}-here"), "here"),
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
