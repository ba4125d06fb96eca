"""How figures grow with the number of annotated people: the claim of few labels."""

from __future__ import annotations

from deaps.evaluation import Evaluation, FewLabelCurve
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
from deaps.report.theme import series_styles
from deaps.report.wording import interval, percent, slug

_UNIT = "people"
_WORDS = (
    "Annotations are what a study pays for. The classifier is fitted on the recordings of a few "
    "people drawn at random, then of twice as many, each group holding the one before, and is "
    "tested on all test people each time."
)


def few_labels_section(evaluation: Evaluation) -> Section:
    """Return the curves of each benchmark by each metric, and their figures."""
    courses = _by_benchmark(evaluation)
    parts: list[Part] = [*notices(evaluation, "few labels", empty=not courses)]
    if courses:
        parts.append(Paragraph(_WORDS))
    for benchmark, by_metric in courses.items():
        parts.append(_figure(evaluation, benchmark, by_metric))
        parts += [_table(evaluation, benchmark, *item) for item in by_metric.items()]
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
        "the number of annotated people, with the 95 % interval over draws and tested people.",
        corner="people",
        groups=(ColumnGroup("", tuple(f"{n:,}" for n in people)),),
        bodies=(Body(tuple(rows)),),
        folded=metric != "accuracy",
    )
