"""The report as Markdown, and its figures as flat tables (CSV)."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

from deaps.evaluation.document import Evaluation, MetricComparison, Outcome, ProbeOutcome, Score
from deaps.report.parts import (
    Bullets,
    Cell,
    ColumnGroup,
    ColumnKind,
    Figure,
    Map,
    Matrices,
    Matrix,
    Notice,
    Paragraph,
    Part,
    Row,
    Section,
    SideBySide,
    Table,
    TermList,
    Verbatim,
)
from deaps.report.results import benchmark_title, dataset_label, representation_label
from deaps.report.wording import listed, percent

_SPECIAL = re.compile(r"([\\`*_\[\]|#])")
_FENCE = re.compile(r"`{3,}")


def markdown_report(title: str, sections: Sequence[Section], *, banner: str | None = None) -> str:
    """Return the whole report as Markdown text."""
    blocks = [f"# {escaped(title)}", *([f"> **{escaped(banner)}**"] if banner else [])]
    for section in sections:
        blocks.append(f"## {escaped(section.title)}")
        blocks += [_block(part) for part in section.parts]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Return a text that Markdown shows unchanged: on one line, without mark-up or HTML."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return _SPECIAL.sub(r"\\\1", line)


@singledispatch
def _block(part: Part) -> str:
    raise TypeError(f"no Markdown for {type(part).__name__}")


@_block.register
def _(part: Paragraph) -> str:
    return escaped(part.text)


@_block.register
def _(part: Notice) -> str:
    return f"> {escaped(part.text)}"


@_block.register
def _(part: SideBySide) -> str:
    return "\n\n".join(_block(inner) for inner in part.parts)


@_block.register
def _(part: Bullets) -> str:
    return "\n".join(f"- {escaped(item)}" for item in part.items)


@_block.register
def _(part: TermList) -> str:
    lines = []
    for term, values in part.entries:
        if len(values) == 1:
            lines.append(f"- {escaped(term)}: {escaped(values[0])}")
        else:
            lines += [f"- {escaped(term)}:", *(f"    - {escaped(value)}" for value in values)]
    return "\n".join(lines)


@_block.register
def _(part: Verbatim) -> str:
    longest = max((len(fence) for fence in _FENCE.findall(part.text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{escaped(part.summary)}:\n\n{fence}\n{part.text.rstrip()}\n{fence}"


@_block.register(Figure)
@_block.register(Map)
def _(part: Figure | Map) -> str:
    titles = ""
    if isinstance(part, Figure):
        lines = [" ".join(filter(None, (panel.title, panel.note))) for panel in part.panels]
        titles = "".join(f"\n- {escaped(line)}" for line in lines if line)
        titles = f"\n{titles}" if titles else ""
    return f"Figure {part.number}. {escaped(part.caption)} (The page shows this figure.){titles}"


@_block.register
def _(part: Matrices) -> str:
    classes = part.matrices[0].classes if part.matrices else ()
    heads = ["", "true class", *(f"predicted {name}" for name in classes)]
    rows = [line for matrix in part.matrices for line in _matrix_rows(matrix)]
    return (
        f"Figure {part.number}. {escaped(part.caption)}\n\n{_grid(heads, rows, ['text', 'text'])}"
    )


def _matrix_rows(matrix: Matrix) -> list[list[str]]:
    rows = []
    for true, name in enumerate(matrix.classes):
        shares = [
            f"{percent(matrix.share(true, predicted))} ({count:,})"
            for predicted, count in enumerate(matrix.counts[true])
        ]
        rows.append([escaped(matrix.title), escaped(name), *shares])
    return rows


@_block.register
def _(part: Table) -> str:
    heads = [part.corner, *(head for group in part.groups for head in _heads(group))]
    rows = [_row(row, part.width) for body in part.bodies for row in body.rows]
    kinds = [group.kind for group in part.groups for _ in group.columns]
    notes = "".join(f"\n\n{escaped(note)}" for note in part.notes)
    title = f"Table {part.number}. {escaped(part.caption)}"
    return f"{title}\n\n{_grid(heads, rows, ['text', *kinds])}{notes}"


def _heads(group: ColumnGroup) -> Iterable[str]:
    return (": ".join(filter(None, (group.title, column))) for column in group.columns)


def _row(row: Row, width: int) -> list[str]:
    head = escaped(row.head)
    if row.sentence:
        return (
            [head, escaped(row.sentence), *[""] * (width - 1)]
            if width
            else [f"{head}: {escaped(row.sentence)}"]
        )
    return [head, *map(_cell, row.cells)]


def _cell(cell: Cell) -> str:
    text = escaped(cell.text)
    if cell.best:
        text = f"**{text}** ★"
    return f"{text} {escaped(cell.note)}" if cell.note else text


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]], kinds: Sequence[ColumnKind]) -> str:
    """Return a pipe table; columns of numbers are right-aligned, as are those beyond ``kinds``."""
    rules = ["---:" if kind == "number" else "---" for kind in kinds]
    rules += ["---:"] * (len(heads) - len(kinds))
    lines = [[escaped(head) or " " for head in heads], rules, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


FlatRow = dict[str, object]

TABLES_FOLDER = "tables"

ABOUT_TABLES = {
    "figures.csv": "every figure of every benchmark, with its interval",
    "differences.csv": "every method and baseline compared with the reference",
    "folds.csv": "the accuracy of each fold",
    "few-labels.csv": "the figures by number of annotated people",
    "few-label-differences.csv": "the differences by number of annotated people",
}
"""Names of the tables, and what each contains."""


def flat_tables(evaluation: Evaluation) -> dict[str, str]:
    """Return the text of each table, by its name; a table without rows has its heads alone.

    Values are shares of one, not per cent. If data are synthetic, each row names them.
    """
    rows = (
        (_FIGURES, _figures(evaluation)),
        (_DIFFERENCES, _differences(evaluation)),
        (_FOLDS, _folds(evaluation)),
        (_CURVES, _curves(evaluation)),
        (_CURVE_DIFFERENCES, _curve_differences(evaluation)),
    )
    mark = _synthetic(evaluation)
    return {
        name: _csv((*heads, "synthetic"), ({**row, "synthetic": mark} for row in table))
        for name, (heads, table) in zip(ABOUT_TABLES, rows, strict=True)
    }


_FIGURES = (
    *("benchmark", "benchmark_title", "representation", "label", "classifier", "metric"),
    *("value", "low", "high", "deviation", "n", "interval_over", "leaks"),
)
_DIFFERENCES = (
    *(
        "benchmark",
        "benchmark_title",
        "metric",
        "reference",
        "comparator",
        "difference",
        "low",
        "high",
    ),
    *("family_low", "family_high", "p", "p_holm", "people", "significant"),
)
_FOLDS = ("benchmark", "benchmark_title", "representation", "label", "fold", "n", "accuracy")
_CURVES = (
    *("benchmark", "benchmark_title", "representation", "label", "metric", "people"),
    *("value", "low", "high", "draws", "interval_over"),
)
_CURVE_DIFFERENCES = (*_DIFFERENCES, "annotated_people")


def _figures(evaluation: Evaluation) -> Iterator[FlatRow]:
    for benchmark in evaluation.benchmarks:
        about = {**_benchmark(evaluation, benchmark.name), "leaks": benchmark.leak or ""}
        outcomes: list[Outcome | ProbeOutcome] = [*benchmark.outcomes, *benchmark.probes]
        for outcome in outcomes:
            probe = outcome.probe if isinstance(outcome, ProbeOutcome) else "as in the tables"
            who = {**_representation(evaluation, outcome.representation), "classifier": probe}
            for score in outcome.scores:
                yield {**about, **who, **_score(score)}


def _score(score: Score) -> FlatRow:
    return {
        **score.model_dump(include={"metric", "value", "low", "high", "deviation", "n"}),
        "interval_over": score.scope,
    }


def _differences(evaluation: Evaluation) -> Iterator[FlatRow]:
    for benchmark in evaluation.benchmarks:
        for comparison in benchmark.comparisons:
            yield from _of_comparison(evaluation, benchmark.name, comparison)


def _of_comparison(
    evaluation: Evaluation, benchmark: str, comparison: MetricComparison
) -> Iterator[FlatRow]:
    about = {
        **_benchmark(evaluation, benchmark),
        "metric": comparison.metric,
        "reference": representation_label(evaluation, comparison.reference),
        "people": comparison.n_subjects,
    }
    for difference in comparison.differences:
        yield {
            **about,
            **difference.model_dump(exclude={"comparator", "value", "exact", "scope"}),
            "comparator": representation_label(evaluation, difference.comparator),
            "difference": difference.value,
        }


def _folds(evaluation: Evaluation) -> Iterator[FlatRow]:
    for benchmark in evaluation.benchmarks:
        for outcome in benchmark.outcomes:
            who = _representation(evaluation, outcome.representation)
            for fold in outcome.folds:
                values = {"fold": fold.name, "n": fold.n, "accuracy": fold.accuracy}
                yield {**_benchmark(evaluation, benchmark.name), **who, **values}


def _curves(evaluation: Evaluation) -> Iterator[FlatRow]:
    for curve in evaluation.few_labels:
        about = {
            **_benchmark(evaluation, curve.benchmark),
            **_representation(evaluation, curve.representation),
            "metric": curve.metric,
        }
        for point in curve.points:
            yield {**about, **point.model_dump(exclude={"scope"}), "interval_over": point.scope}


def _curve_differences(evaluation: Evaluation) -> Iterator[FlatRow]:
    for each in evaluation.few_label_comparisons:
        for row in _of_comparison(evaluation, each.benchmark, each.comparison):
            yield {**row, "annotated_people": each.people}


def _benchmark(evaluation: Evaluation, name: str) -> FlatRow:
    return {"benchmark": name, "benchmark_title": benchmark_title(evaluation, name)}


def _representation(evaluation: Evaluation, name: str) -> FlatRow:
    return {"representation": name, "label": representation_label(evaluation, name)}


def _synthetic(evaluation: Evaluation) -> str:
    names = [dataset_label(evaluation, name) for name in evaluation.synthetic]
    return listed(names) if names else ""


def _csv(heads: Iterable[str], rows: Iterable[FlatRow]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(heads), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
