"""How the methods stand over all benchmarks together."""

from __future__ import annotations

from deaps.evaluation.document import Evaluation, Ranks
from deaps.report.columns import METRIC_TITLES
from deaps.report.figures.mean_ranks import RankRow, rank_plot
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
from deaps.report.results import benchmark_title, representation_label
from deaps.report.sections.absent import notices
from deaps.report.theme import series_styles
from deaps.report.wording import counted, listed, number


def mean_ranks_section(evaluation: Evaluation) -> Section:
    """Return the mean ranks with the difference that would tell two methods apart."""
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
    text = f"Ranks by {METRIC_TITLES[ranks.metric]} over {counted(n, 'benchmark')}."
    if ranks.left_out:
        titles = listed(benchmark_title(evaluation, name) for name in ranks.left_out)
        text += f" Left out, because a method has no figure there: {titles}."
    if ranks.critical_difference is None:
        return text + " So few benchmarks cannot tell methods apart by their ranks."
    best, *_, last = ranks.mean.values()
    apart = last - best > ranks.critical_difference
    verdict = (
        "The first and the last are that far apart."
        if apart
        else "The first and the last are closer than that: ranks tell no two methods apart."
    )
    return (
        f"{text} Two methods are told apart if their mean ranks differ by more than "
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
