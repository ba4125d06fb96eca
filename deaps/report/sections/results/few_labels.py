"""How figures grow with the number of annotated people: the claim of few labels."""

from __future__ import annotations

from collections.abc import Iterable

from deaps.evaluation.document import (
    ComparisonFamily,
    Evaluation,
    FewLabelComparison,
    FewLabelCurve,
    MetricComparison,
)
from deaps.report.cells import UNDEFINED
from deaps.report.columns import METRIC_TITLES
from deaps.report.figures.few_labels import LabelCurve, few_labels_plot
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    Panel,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.results import benchmark_title, representation_label
from deaps.report.sections.absent import notices
from deaps.report.sections.results.differences import FAMILY_TITLES, difference_cell, scope_notes
from deaps.report.theme import series_styles
from deaps.report.wording import interval, percent, slug

_UNIT = "people"
_WORDS = (
    "Annotations are what a study pays for. The classifier is fitted on the recordings of a few "
    "people drawn at random, then of twice as many, each group holding the one before, and is "
    "tested on all test people each time."
)
_INTERVAL_NOTE = (
    "Brackets hold the 95 % interval over tested people, annotated people and seeds. With all "
    "annotated people together, it is for just these people, and over tested people and seeds."
)
_DIFFERENCE_NOTE = (
    "Points. Brackets hold the 95 % interval over tested people, annotated people (not in the last "
    "row) and seeds, wide enough for all rivals of the same part of the table together. ✓ marks a "
    "difference that counts: p of a sign-flip test over tested people, after Holm over the same "
    "rivals, is below 0.05, and the interval excludes zero. Numbers of people and metrics are not "
    "corrected for their number. few-label-differences.csv has every p."
)


def few_labels_section(evaluation: Evaluation) -> Section:
    """Return the curves of each benchmark by each metric, and their figures."""
    courses = _by_benchmark(evaluation)
    parts: list[Part] = [*notices(evaluation, "few labels", empty=not courses)]
    if courses:
        parts.append(Paragraph(_WORDS))
    for benchmark, by_metric in courses.items():
        parts.append(_figure(evaluation, benchmark, by_metric))
        for metric, curves in by_metric.items():
            parts.append(_table(evaluation, benchmark, metric, curves))
            parts += _difference_tables(evaluation, benchmark, metric)
    return Section("few-labels", "Few labels", tuple(parts))


def _by_benchmark(evaluation: Evaluation) -> dict[str, dict[str, list[FewLabelCurve]]]:
    found: dict[str, dict[str, list[FewLabelCurve]]] = {}
    for curve in evaluation.few_labels:
        found.setdefault(curve.benchmark, {}).setdefault(curve.metric, []).append(curve)
    return found


def _figure(
    evaluation: Evaluation, benchmark: str, by_metric: dict[str, list[FewLabelCurve]]
) -> Figure:
    panels = tuple(_panel(evaluation, benchmark, *item) for item in by_metric.items())
    return Figure(
        id=f"figure-few-labels-{slug(benchmark)}",
        caption=f"{benchmark_title(evaluation, benchmark)}: figures by the number of annotated "
        "people, means over draws of them and over seeds.",
        panels=panels,
        arrangement="pair",
    )


def _panel(
    evaluation: Evaluation, benchmark: str, metric: str, curves: list[FewLabelCurve]
) -> Panel:
    styles = series_styles(evaluation.representations)
    lines = [
        LabelCurve(representation_label(evaluation, c.representation), styles[c.representation], c)
        for c in curves
    ]
    title = METRIC_TITLES[metric]
    label = (
        f"{title} by the number of annotated people in {benchmark_title(evaluation, benchmark)}, "
        f"{len(lines)} lines; figures in a table"
    )
    name = f"few-labels-{slug(benchmark)}-{slug(metric)}"
    return Panel(
        few_labels_plot(lines, unit=_UNIT, metric=title, name=name, label=label), title=title
    )


def _table(
    evaluation: Evaluation, benchmark: str, metric: str, curves: list[FewLabelCurve]
) -> Table:
    people = sorted({point.people for curve in curves for point in curve.points})
    rows = []
    for curve in curves:
        points = {point.people: point for point in curve.points}
        cells = tuple(
            Cell(percent(p.value), note=interval(p.low, p.high))
            if (p := points.get(n))
            else Cell("")
            for n in people
        )
        rows.append(Row(representation_label(evaluation, curve.representation), cells))
    return Table(
        id=f"table-few-labels-{slug(benchmark)}-{slug(metric)}",
        caption=f"{benchmark_title(evaluation, benchmark)}: {METRIC_TITLES[metric]} in per cent by "
        "the number of annotated people.",
        corner="people",
        groups=(ColumnGroup("", tuple(f"{n:,}" for n in people)),),
        bodies=(Body(tuple(rows)),),
        notes=(_INTERVAL_NOTE, *scope_notes(p.scope for curve in curves for p in curve.points)),
        folded=metric != "accuracy",
    )


def _difference_tables(evaluation: Evaluation, benchmark: str, metric: str) -> list[Part]:
    """Return the reference less each rival by the number of annotated people, if there is any."""
    compared = [
        each
        for each in evaluation.few_label_comparisons
        if (each.benchmark, each.comparison.metric) == (benchmark, metric)
    ]
    if not compared:
        return []
    people = sorted({each.people for each in compared})
    families = dict.fromkeys(each.comparison.family for each in compared)
    table = Table(
        id=f"table-few-label-differences-{slug(benchmark)}-{slug(metric)}",
        caption=f"{benchmark_title(evaluation, benchmark)}: paired differences in "
        f"{METRIC_TITLES[metric]} by the number of annotated people.",
        corner="less",
        groups=(ColumnGroup("", tuple(f"{n:,}" for n in people)),),
        bodies=tuple(_body(evaluation, family, compared, people) for family in families),
        notes=(
            _DIFFERENCE_NOTE,
            *scope_notes(d.scope for each in compared for d in each.comparison.differences),
        ),
        folded=metric != "accuracy",
    )
    return [table]


def _body(
    evaluation: Evaluation,
    family: ComparisonFamily,
    compared: Iterable[FewLabelComparison],
    people: Iterable[int],
) -> Body:
    by_people = {c.people: c.comparison for c in compared if c.comparison.family == family}
    rivals = dict.fromkeys(d.rival for c in by_people.values() for d in c.differences)
    rows = tuple(
        Row(
            representation_label(evaluation, rival),
            tuple(_cell(by_people.get(n), rival) for n in people),
        )
        for rival in rivals
    )
    reference = next(iter(by_people.values())).reference
    title = f"{FAMILY_TITLES[family]}: {representation_label(evaluation, reference)} less"
    return Body(rows, title=title)


def _cell(comparison: MetricComparison | None, rival: str) -> Cell:
    difference = comparison.difference(rival) if comparison else None
    return difference_cell(difference) if difference else UNDEFINED
