"""Quality of the windows, by data set and visit, with examples."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation, QualityExample, QualityGrades
from deaps.report.figures.grades import grades_plot
from deaps.report.figures.quality_bars import quality_plot, quality_sign
from deaps.report.figures.recordings.strips import strip_plot, strip_range
from deaps.report.figures.signs import area_sign
from deaps.report.parts import (
    Beside,
    Body,
    Cell,
    ColumnGroup,
    Figure,
    LegendEntry,
    Panel,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.results import dataset_label
from deaps.report.sections.absent import notices
from deaps.report.sections.strips import PAPER_LINES
from deaps.report.wording import count, percent
from storage.schema import Quality

_BEST_FIRST = tuple(map(str, Quality))


def quality_section(evaluation: Evaluation) -> Section:
    """Return bars and counts by data set and visit, and examples of each class."""
    counts = _counts(evaluation)
    classes = _classes(evaluation)
    parts: list[Part] = [*notices(evaluation, "quality", empty=not counts)]
    if counts:
        parts.append(Beside((_figure(counts, classes), _table(counts, classes))))
    parts += notices(evaluation, "quality examples", empty=not evaluation.quality_examples)
    if evaluation.quality_examples:
        parts.append(_examples(evaluation.quality_examples))
    parts += [_grades(grades, evaluation) for grades in evaluation.quality_grades]
    return Section("quality", "Signal quality", tuple(parts))


def _grades(grades: QualityGrades, evaluation: Evaluation) -> Figure:
    """Return our score against the technicians', whom nobody told of it."""
    name = dataset_label(evaluation, grades.dataset)
    caption = (
        f"Our score against the technicians' grades of {name}: {count(len(grades.grade))} "
        f"recordings of {count(grades.subjects)} people. {_correlation(grades)}"
    )
    plot = grades_plot(
        grades,
        name=f"grades-{grades.dataset}",
        label=f"Share of Unacceptable windows by grade, {len(grades.grade)} recordings",
    )
    return Figure(f"figure-grades-{grades.dataset}", caption, (Panel(plot),))


def _correlation(grades: QualityGrades) -> str:
    if grades.correlation is None:
        return "One of the two does not vary, so there is no rank correlation."
    interval = ""
    if grades.low is not None and grades.high is not None:
        interval = f" (95 % interval over people {grades.low:.2f} to {grades.high:.2f})"
    return (
        f"Spearman's rank correlation of grade and share of Unacceptable windows is "
        f"{grades.correlation:.2f}{interval}; the better the grade, the fewer they should be."
    )


def _counts(evaluation: Evaluation) -> dict[str, dict[str, int]]:
    """Return windows of each class, by data set and visit; a single visit has no number."""
    visits: dict[str, set[int]] = {}
    for entry in evaluation.quality:
        visits.setdefault(entry.dataset, set()).add(entry.visit)
    counts: dict[str, dict[str, int]] = {}
    for entry in evaluation.quality:
        several = len(visits[entry.dataset]) > 1
        dataset = dataset_label(evaluation, entry.dataset)
        label = f"{dataset}, visit {entry.visit}" if several else dataset
        row = counts.setdefault(label, {})
        row[entry.quality] = row.get(entry.quality, 0) + entry.n_windows
    return counts


def _classes(evaluation: Evaluation) -> list[str]:
    """Return the quality classes, the best first; others follow as they come."""
    present = dict.fromkeys(entry.quality for entry in evaluation.quality)
    ordered = [name for name in _BEST_FIRST if name in present]
    return ordered + [name for name in present if name not in ordered]


def _figure(counts: dict[str, dict[str, int]], classes: list[str]) -> Figure:
    rows = []
    for label, row in counts.items():
        total = sum(row.values()) or 1
        rows.append((label, [row.get(name, 0) / total for name in classes]))
    label = f"Shares of {len(classes)} quality classes in {len(rows)} rows; figures in a table"
    legend = tuple(
        LegendEntry(area_sign(*quality_sign(place), name=f"quality-sign-{place}"), name)
        for place, name in enumerate(classes)
    )
    return Figure(
        id="figure-quality",
        caption="Quality of all windows by data set and visit.",
        panels=(Panel(quality_plot(rows, name="quality", label=label)),),
        legend=legend,
    )


def _table(counts: dict[str, dict[str, int]], classes: list[str]) -> Table:
    rows = []
    for label, row in counts.items():
        total = sum(row.values())
        cells = [Cell(count(total))]
        for name in classes:
            share = row.get(name, 0) / total if total else None
            cells.append(Cell(percent(share), note=count(row.get(name, 0))))
        rows.append(Row(label, tuple(cells)))
    return Table(
        id="table-quality",
        caption="Windows by quality class: shares in per cent, counts below.",
        corner="",
        groups=(ColumnGroup("", ("windows", *classes)),),
        bodies=(Body(tuple(rows)),),
    )


def _examples(examples: tuple[QualityExample, ...]) -> Figure:
    span = strip_range([example.strip for example in examples])
    panels = tuple(
        Panel(
            strip_plot(
                example.strip,
                span=span,
                name=f"quality-example-{place}",
                label=f"ECG of quality {example.quality}: {example.strip.caption}",
            ),
            title=example.quality,
            note=example.strip.caption,
        )
        for place, example in enumerate(examples)
    )
    caption = f"Examples of each quality class. {PAPER_LINES}"
    return Figure("figure-quality-examples", caption, panels, arrangement="wide")
