"""Mean ranks: how the methods stand over all benchmarks together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure

from deaps.evaluation.document import Evaluation, Ranks
from deaps.evaluation.metrics import metric_title
from deaps.report.drawing import pixel_axes, shortened, text_width
from deaps.report.parts import (
    Body,
    Cell,
    ColumnGroup,
    Figure,
    Panel,
    Paragraph,
    Row,
    Section,
    Table,
)
from deaps.report.results import benchmark_title, notices, representation_label
from deaps.report.svg import inline_svg
from deaps.report.theme import INK, MUTED, RULE, SeriesStyle, series_styles
from deaps.report.wording import counted, listed, number

_WIDTH = 440
_ROW = 26
_TOP = 34
_BOTTOM = 40
_LABEL_LENGTH = 24


@dataclass(frozen=True, slots=True)
class RankRow:
    """One method."""

    label: str
    style: SeriesStyle
    mean: float
    by_benchmark: Mapping[str, float]


def rank_plot(
    rows: Sequence[RankRow], *, critical_difference: float | None, name: str, label: str
) -> Markup:
    """Return a row for each method: its mean rank, and a small dot for each benchmark."""

    def draw(figure: MplFigure) -> None:
        labels = [shortened(row.label, _LABEL_LENGTH) for row in rows]
        left = 14 + text_width(labels)
        axes = pixel_axes(figure, left=left, right=16, top=_TOP, bottom=_BOTTOM)
        axes.set(xlim=(0.8, len(rows) + 0.2), ylim=(len(rows) - 0.4, -0.6))
        axes.set_xticks(range(1, len(rows) + 1))
        axes.set_yticks(range(len(rows)), labels)
        axes.tick_params(axis="y", labelcolor=INK)
        axes.set_xlabel("mean rank, 1 is the best")
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        for place, row in enumerate(rows):
            _draw_row(axes, row, place)
        if critical_difference is not None:
            _draw_critical(axes, critical_difference, len(rows))

    height = _TOP + _BOTTOM + _ROW * len(rows)
    return inline_svg(draw, name=name, label=label, size=(_WIDTH, height))


def _draw_row(axes: Axes, row: RankRow, place: int) -> None:
    axes.axhline(place, color=RULE, linewidth=0.6, zorder=0.5)
    ranks = list(row.by_benchmark.values())
    colour = row.style.colour
    axes.plot(ranks, [place] * len(ranks), ".", color=colour, markersize=5, alpha=0.5)
    axes.plot([row.mean], [place], marker=row.style.marker, markersize=8, color=colour)


def _draw_critical(axes: Axes, critical: float, n_methods: int) -> None:
    """Draw the critical difference above the axes, from the best rank on."""
    transform = axes.get_xaxis_transform()
    end = min(1 + critical, n_methods + 0.2)
    axes.plot([1, end], [1.06] * 2, color=INK, linewidth=2, transform=transform, clip_on=False)
    text = f"critical difference {critical:.2f}"
    axes.text(1, 1.1, text, transform=transform, color=MUTED, fontsize=10, va="bottom")


def mean_ranks_section(evaluation: Evaluation) -> Section:
    """Return the mean ranks with the difference that would be significant."""
    ranks = evaluation.ranks
    if ranks is None or not ranks.mean:
        parts = tuple(notices(evaluation, "ranks", empty=True))
        return Section("ranks", "Ranks over all benchmarks", parts)
    found = (
        Paragraph(_words(evaluation, ranks)),
        _figure(evaluation, ranks),
        _table(evaluation, ranks),
    )
    return Section("ranks", "Ranks over all benchmarks", found)


def _words(evaluation: Evaluation, ranks: Ranks) -> str:
    n = len(ranks.by_benchmark)
    text = f"Ranks by {metric_title(ranks.metric)} over {counted(n, 'benchmark')}."
    if ranks.left_out:
        titles = listed(benchmark_title(evaluation, name) for name in ranks.left_out)
        text += f" Left out, because a method has no figure there: {titles}."
    if ranks.critical_difference is None:
        return text + " There are too few benchmarks for a test of the ranks."
    best, *_, last = ranks.mean.values()
    apart = last - best > ranks.critical_difference
    verdict = (
        "The first and the last differ by more than that."
        if apart
        else "The first and the last differ by less: no two mean ranks are significantly different."
    )
    return (
        f"{text} Two mean ranks are significantly different if they differ by more than "
        f"{number(ranks.critical_difference)} (Nemenyi's test at 5 %). {verdict}"
    )


def _figure(evaluation: Evaluation, ranks: Ranks) -> Figure:
    styles = series_styles(evaluation.representations)
    rows = [
        RankRow(
            representation_label(evaluation, name),
            styles[name],
            mean,
            {benchmark: own[name] for benchmark, own in ranks.by_benchmark.items()},
        )
        for name, mean in ranks.mean.items()
    ]
    words = ", ".join(f"{row.label} {row.mean:.2f}" for row in rows)
    svg = rank_plot(
        rows,
        critical_difference=ranks.critical_difference,
        name="mean-ranks",
        label=f"Mean ranks of {len(rows)} methods: {words}",
    )
    return Figure(
        id="figure-ranks",
        caption="Mean rank of each method over the benchmarks; a dot is one benchmark.",
        panels=(Panel(svg),),
    )


def _table(evaluation: Evaluation, ranks: Ranks) -> Table:
    rows = tuple(
        Row(
            representation_label(evaluation, name),
            (
                *(Cell(number(own[name], 1)) for own in ranks.by_benchmark.values()),
                Cell(number(mean)),
            ),
        )
        for name, mean in ranks.mean.items()
    )
    titles = tuple(benchmark_title(evaluation, name) for name in ranks.by_benchmark)
    return Table(
        id="table-ranks",
        caption="Rank of each method in each benchmark; equal figures share the mean of theirs.",
        corner="",
        groups=(ColumnGroup("", (*titles, "mean")),),
        bodies=(Body(rows),),
    )
