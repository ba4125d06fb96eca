"""How figures grow with the number of annotated people: the claim of few labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import NullLocator

from deaps.evaluation.document import (
    ComparisonFamily,
    Evaluation,
    FewLabelComparison,
    FewLabelCurve,
    MetricComparison,
)
from deaps.evaluation.metrics import metric_title
from deaps.report.cells import UNDEFINED
from deaps.report.differences import FAMILY_TITLES, difference_cell, scope_notes
from deaps.report.drawing import (
    NamedEnd,
    limits,
    name_above,
    name_line_ends,
    pixel_axes,
    room_for_names,
)
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
from deaps.report.results import benchmark_title, notices, representation_label
from deaps.report.svg import inline_svg
from deaps.report.theme import SeriesStyle, series_styles
from deaps.report.wording import interval, percent, slug

_SIZE = (440, 320)
_TOP = 24
_BOTTOM = 40


@dataclass(frozen=True, slots=True)
class LabelCurve:
    """One representation's curve."""

    label: str
    style: SeriesStyle
    curve: FewLabelCurve


def few_labels_plot(
    curves: Sequence[LabelCurve], *, unit: str, metric: str, name: str, label: str
) -> Markup:
    """Return the metric in per cent by the number of annotated people, which doubles."""

    def draw(figure: MplFigure) -> None:
        right = room_for_names([curve.label for curve in curves])
        axes = pixel_axes(figure, left=34, right=right, top=_TOP, bottom=_BOTTOM)
        _set_scales(axes, curves, unit, metric)
        for curve in curves:
            _draw(axes, curve)
        name_line_ends(axes, [_end(curve) for curve in curves], top=_TOP)

    return inline_svg(draw, name=name, label=label, size=_SIZE)


def _set_scales(axes: Axes, curves: Sequence[LabelCurve], unit: str, metric: str) -> None:
    people = sorted({point.people for curve in curves for point in curve.curve.points})
    values = [100 * point.value for curve in curves for point in curve.curve.points]
    low, high = limits(values)
    axes.set_xscale("log", base=2)
    axes.set(xlim=(people[0] / 1.1, people[-1] * 1.1), ylim=(max(low, 0), min(high, 100)))
    shown = _every_other(people)
    axes.set_xticks(shown, [f"{n:,}" for n in shown])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(f"annotated {unit}")
    name_above(axes, f"{metric}, per cent")
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y")


def _every_other(people: Sequence[int], most: int = 7) -> list[int]:
    """Return few enough of the numbers to be read, the last among them."""
    step = -(-len(people) // most)
    return list(people[::-1][::step])[::-1]


def _draw(axes: Axes, curve: LabelCurve) -> None:
    points = curve.curve.points
    axes.plot(
        [point.people for point in points],
        100 * np.array([point.value for point in points]),
        color=curve.style.colour,
        linestyle=curve.style.dash,
        marker=curve.style.marker,
        markersize=4.5,
        linewidth=1.6,
    )


def _end(curve: LabelCurve) -> NamedEnd:
    last = curve.curve.points[-1]
    return NamedEnd(curve.label, curve.style, (float(last.people), 100 * last.value))


_UNIT = "people"
_WORDS = (
    "Annotation is the main cost of a study. The classifier is fitted on the recordings of a few "
    "people drawn at random, then of twice as many (the groups are nested), and is tested on all "
    "test people each time."
)
_INTERVAL_NOTE = (
    "Brackets hold the 95 % interval over tested people, annotated people and seeds. With all "
    "annotated people together, it is conditional on them, and over tested people and seeds."
)
_DIFFERENCE_NOTE = (
    "Points. Brackets hold the 95 % interval over tested people, annotated people (not in the "
    "last row) and seeds, adjusted for all comparisons in this block. ✓ marks a significant "
    "difference: p of a sign-flip test over tested people, Holm-corrected over the same "
    "comparisons, is below 0.05, and the interval excludes zero. There is no correction for the "
    "number of points and metrics. few-label-differences.csv has every p."
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
    title = metric_title(metric)
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
        caption=f"{benchmark_title(evaluation, benchmark)}: {metric_title(metric)} in per cent by "
        "the number of annotated people.",
        corner="people",
        groups=(ColumnGroup("", tuple(f"{n:,}" for n in people)),),
        bodies=(Body(tuple(rows)),),
        notes=(_INTERVAL_NOTE, *scope_notes(p.scope for curve in curves for p in curve.points)),
        folded=metric != "accuracy",
    )


def _difference_tables(evaluation: Evaluation, benchmark: str, metric: str) -> list[Part]:
    """Return the reference minus each comparator by the number of annotated people."""
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
        f"{metric_title(metric)} by the number of annotated people.",
        corner="minus",
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
    comparators = dict.fromkeys(d.comparator for c in by_people.values() for d in c.differences)
    rows = tuple(
        Row(
            representation_label(evaluation, comparator),
            tuple(_cell(by_people.get(n), comparator) for n in people),
        )
        for comparator in comparators
    )
    reference = next(iter(by_people.values())).reference
    title = f"{FAMILY_TITLES[family]}: {representation_label(evaluation, reference)} minus"
    return Body(rows, title=title)


def _cell(comparison: MetricComparison | None, comparator: str) -> Cell:
    difference = comparison.difference(comparator) if comparison else None
    return difference_cell(difference) if difference else UNDEFINED
