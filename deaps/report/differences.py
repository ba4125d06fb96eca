"""Paired differences of one benchmark: figure, table, and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import (
    ALPHA,
    BenchmarkRecord,
    ComparisonFamily,
    Difference,
    Evaluation,
    MetricComparison,
)
from deaps.evaluation.metrics import METRICS, metric_title
from deaps.report.cells import UNDEFINED
from deaps.report.drawing import line_sign, marker_sign, pixel_axes, shortened, text_width
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    LegendEntry,
    Notice,
    Panel,
    Part,
    Row,
    Table,
)
from deaps.report.results import representation_label
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, PAGE, RULE, SeriesStyle, series_styles
from deaps.report.wording import counted, listed, points, points_between, probability, slug

_WIDTH = 440
_ROW = 24
_TOP = 8
_BOTTOM = 40
_LABEL_LENGTH = 24
_MARGIN = 0.06


class DifferenceRow(NamedTuple):
    """A comparator as it is drawn: its name for people, its sign, and the difference to it."""

    label: str
    style: SeriesStyle
    difference: Difference


def difference_plot(rows: Sequence[DifferenceRow], *, axis: str, name: str, label: str) -> Markup:
    """Return a row for each comparator: its sign is filled where the difference is significant."""
    height = _TOP + _BOTTOM + _ROW * len(rows)

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row.label, _LABEL_LENGTH) for row in rows]
        axes = pixel_axes(figure, left=14 + text_width(labels), right=16, top=_TOP, bottom=_BOTTOM)
        low = 100 * min([0.0, *(row.difference.family_low for row in rows)])
        high = 100 * max([0.0, *(row.difference.family_high for row in rows)])
        margin = _MARGIN * (high - low) or 1.0
        axes.set(xlim=(low - margin, high + margin), ylim=(len(rows) - 0.4, -0.6))
        axes.set_yticks(range(len(rows)), labels)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel(axis)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.axvline(0, color=MUTED, linewidth=1)
        for place, row in enumerate(rows):
            _draw_row(axes, row, place)

    return inline_svg(draw, name=name, label=label, size=(_WIDTH, height))


def _draw_row(axes: Axes, row: DifferenceRow, place: int) -> None:
    axes.axhline(place, color=RULE, linewidth=0.6, zorder=0.5)
    colour, found = row.style.colour, row.difference
    family, alone = (found.family_low, found.family_high), (found.low, found.high)
    axes.plot([100 * end for end in family], [place] * 2, color=colour, linewidth=1)
    axes.plot([100 * end for end in alone], [place] * 2, color=colour, linewidth=2.8)
    axes.plot(
        [100 * found.value],
        [place],
        marker=row.style.marker,
        markersize=7,
        color=colour,
        markerfacecolor=colour if found.significant else PAGE,
    )


FAMILY_TITLES: dict[ComparisonFamily, str] = {
    "methods": "Other methods",
    "baselines": "Baselines",
    "components": "Ablations of components",
    "sizes": "Other spans and numbers of features",
    "joined": "What the method adds to RR features",
}

_COMPARATORS: dict[ComparisonFamily, str] = {
    "methods": "another method",
    "baselines": "a baseline",
    "components": "an ablation of components",
    "sizes": "another span or number of features",
    "joined": "the RR numbers alone",
}

_NOTE = (
    "Points. Brackets hold the 95 % interval over people and seeds, adjusted for all comparisons "
    "in this block; p is that of a sign-flip test over people, Holm-corrected over the same "
    "comparisons. ✓ marks a significant difference: p is below 0.05 and the interval excludes "
    "zero. There is no correction for the number of metrics and benchmarks."
)


def difference_parts(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[Part]:
    """Return a notice if there are too few people, a figure and a table."""
    if not benchmark.comparisons:
        return []
    rows = {metric: _rows(evaluation, benchmark, metric) for metric in _metrics(benchmark)}
    drawn = {metric: found for metric, found in rows.items() if found}
    figures = [_figure(evaluation, benchmark, drawn)] if drawn else []
    return [*_too_few(benchmark), *figures, _table(evaluation, benchmark)]


def too_few_subjects(comparison: MetricComparison) -> str | None:
    """Return the sentence on a family in which nothing can be significant, None if it can."""
    if comparison.smallest_p < ALPHA:
        return None
    return (
        f"With {comparison.n_subjects:,} people no difference to {_COMPARATORS[comparison.family]} "
        f"can be significant: the smallest possible p, Holm-corrected over "
        f"{counted(len(comparison.differences), 'comparison')}, is "
        f"{probability(comparison.smallest_p)}."
    )


def _too_few(benchmark: BenchmarkRecord) -> list[Part]:
    compared = (benchmark.comparison(family, "accuracy") for family in _families(benchmark))
    sentences = [too_few_subjects(comparison) for comparison in compared if comparison]
    text = " ".join(sentence for sentence in sentences if sentence)
    return [Notice(text)] if text else []


def _metrics(benchmark: BenchmarkRecord) -> list[str]:
    present = {comparison.metric for comparison in benchmark.comparisons}
    return [metric for metric in METRICS if metric in present]


def _families(benchmark: BenchmarkRecord) -> list[ComparisonFamily]:
    present = {comparison.family for comparison in benchmark.comparisons}
    return [family for family in FAMILY_TITLES if family in present]


def _figure(
    evaluation: Evaluation, benchmark: BenchmarkRecord, rows: dict[str, list[DifferenceRow]]
) -> Figure:
    name = f"figure-differences-{slug(benchmark.name)}"
    panels = tuple(_panel(benchmark, metric, drawn) for metric, drawn in rows.items())
    return Figure(
        id=name,
        caption=f"{benchmark.title}: {_reference(evaluation, benchmark)} minus each comparator, on "
        "the same people. Positive values favour "
        f"{_reference(evaluation, benchmark)}.",
        panels=panels,
        arrangement="pair",
        legend=(
            LegendEntry(marker_sign("o", INK, name=f"{name}-significant"), "significant"),
            LegendEntry(
                marker_sign("o", INK, name=f"{name}-open", filled=False), "not significant"
            ),
            LegendEntry(
                line_sign(INK, name=f"{name}-line"),
                "95 % interval: thick for one comparison alone, thin adjusted for its block",
            ),
        ),
    )


def _reference(evaluation: Evaluation, benchmark: BenchmarkRecord) -> str:
    family = benchmark.comparisons[0]
    return representation_label(evaluation, family.reference)


def _rows(evaluation: Evaluation, benchmark: BenchmarkRecord, metric: str) -> list[DifferenceRow]:
    """Return the rows of methods and baselines, as far as the evaluation has them."""
    styles = series_styles(evaluation.representations)
    return [
        DifferenceRow(
            representation_label(evaluation, difference.comparator),
            styles[difference.comparator],
            difference,
        )
        for family in ("methods", "baselines")
        if (comparison := benchmark.comparison(family, metric))
        for difference in comparison.differences
        if difference.comparator in styles
    ]


def _panel(benchmark: BenchmarkRecord, metric: str, rows: list[DifferenceRow]) -> Panel:
    title = metric_title(metric)
    words = ", ".join(f"{row.label} {100 * row.difference.value:+.1f}" for row in rows)
    name = f"differences-{slug(benchmark.name)}-{slug(metric)}"
    label = f"Differences in {title} in {benchmark.title}, points: {words}"
    return Panel(
        difference_plot(rows, axis=f"{title}, points", name=name, label=label), title=title
    )


def _table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    metrics = _metrics(benchmark)
    return Table(
        id=f"table-differences-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: paired differences.",
        corner="minus",
        groups=tuple(ColumnGroup(metric_title(m), ("difference", "p")) for m in metrics),
        bodies=tuple(
            _body(evaluation, benchmark, family, metrics) for family in _families(benchmark)
        ),
        notes=(
            _NOTE,
            *scope_notes(d.scope for c in benchmark.comparisons for d in c.differences),
        ),
    )


def scope_notes(scopes: Iterable[str | None]) -> tuple[str, ...]:
    """Return a note for what intervals do not cover, where there is one seed."""
    partial = {scope for scope in scopes if scope is not None and "one seed" in scope}
    return tuple(f"Some intervals cover {scope}." for scope in sorted(partial))


def _body(
    evaluation: Evaluation,
    benchmark: BenchmarkRecord,
    family: ComparisonFamily,
    metrics: list[str],
) -> Body:
    comparisons = {m: benchmark.comparison(family, m) for m in metrics}
    found = [c for c in comparisons.values() if c is not None]
    comparators = dict.fromkeys(d.comparator for c in found for d in c.differences)
    rows = tuple(
        Row(
            representation_label(evaluation, comparator),
            tuple(cell for m in metrics for cell in _cells(comparisons[m], comparator)),
        )
        for comparator in comparators
    )
    reference = representation_label(evaluation, found[0].reference)
    return Body(rows, title=f"{FAMILY_TITLES[family]}: {reference} minus")


def _cells(comparison: MetricComparison | None, comparator: str) -> tuple[Cell, Cell]:
    difference = comparison.difference(comparator) if comparison else None
    if difference is None:
        return UNDEFINED, UNDEFINED
    return difference_cell(difference), Cell(probability(difference.p_holm))


def difference_cell(difference: Difference) -> Cell:
    """Return a difference in points, marked where it is significant, with its family's interval."""
    mark = " ✓" if difference.significant else ""
    between = points_between(difference.family_low, difference.family_high)
    return Cell(points(difference.value) + mark, note=between)


_FAMILIES: tuple[ComparisonFamily, ...] = ("methods", "baselines")


def comparison_sentences(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[str]:
    """Return how the reference compares with methods and baselines.

    By accuracy every comparator is named, by other metrics (`Metric.in_words`) those that differ
    significantly.
    """
    sentences = []
    for family in _FAMILIES:
        if comparison := benchmark.comparison(family, "accuracy"):
            sentences += _by_accuracy(evaluation, comparison)
    for metric in (m.name for m in METRICS.values() if m.in_words):
        sentences += _by_other_metric(evaluation, benchmark, metric)
    return sentences


def _by_accuracy(evaluation: Evaluation, comparison: MetricComparison) -> list[str]:
    if sentence := too_few_subjects(comparison):
        return [sentence]
    reference = representation_label(evaluation, comparison.reference)
    sentences = [f"{reference} is {words}." for words in _places(evaluation, comparison)]
    if alike := [d for d in comparison.differences if not d.significant]:
        names = _comparators(evaluation, alike)
        sentences.append(f"{reference} is not significantly different from {names}.")
    return sentences


def _by_other_metric(evaluation: Evaluation, benchmark: BenchmarkRecord, metric: str) -> list[str]:
    found = [benchmark.comparison(family, metric) for family in _FAMILIES]
    places = [words for c in found if c is not None for words in _places(evaluation, c)]
    if not places:
        return []
    reference = next(c.reference for c in found if c is not None)
    label = representation_label(evaluation, reference)
    return [f"By {metric_title(metric)}, {label} is {listed(places)}."]


def _places(evaluation: Evaluation, comparison: MetricComparison) -> list[str]:
    """Return what the reference is significantly better and worse than."""
    found = [d for d in comparison.differences if d.significant]
    sides = {
        "significantly better than": [d for d in found if d.value > 0],
        "significantly worse than": [d for d in found if d.value < 0],
    }
    return [f"{side} {_comparators(evaluation, on)}" for side, on in sides.items() if on]


def _comparators(evaluation: Evaluation, differences: Iterable[Difference]) -> str:
    return listed(_comparator(evaluation, difference) for difference in differences)


def _comparator(evaluation: Evaluation, difference: Difference) -> str:
    label = representation_label(evaluation, difference.comparator)
    article = "the " if label.endswith("encoder") else ""
    between = points_between(difference.family_low, difference.family_high)
    return f"{article}{label} ({points(difference.value)} points {between})"
