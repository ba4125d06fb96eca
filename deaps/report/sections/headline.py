"""The result in short: who leads each benchmark, and total accuracy beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from deaps.evaluation import BenchmarkRecord, Evaluation, Representation, RepresentationRole, Score
from deaps.method_registry import DEAPS
from deaps.report.cells import UNDEFINED, accuracy_cell, paper_cell
from deaps.report.parts import (
    Body,
    Bullets,
    Cell,
    ColumnGroup,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
)
from deaps.report.results import (
    ROLE_TITLES,
    accuracy,
    best_methods,
    ranked,
    reported,
    representations_of,
    was_run,
    why_not_run,
)
from deaps.report.wording import counted, listed, ordinal, percent, percentage

_MOST_BENCHMARKS = 4
"""In one table: more would not fit on paper."""

_NOTES = (
    "All figures are per cent. Brackets hold the 95 % confidence interval (bootstrap over "
    "subjects). ★ and bold type mark the most accurate method. Majority class: the accuracy of "
    "always answering with the most frequent class of the training side.",
    "Paper: the figures it prints, after 30,000 iterations (TF-C: 75,000) at batch 256 on SHHS. A "
    "benchmark's protocol names the data sets that were used here.",
)


def headline_section(evaluation: Evaluation) -> Section:
    """Return summary, the leader of each benchmark, and the tables of total accuracy."""
    leaders = tuple(
        _leader(evaluation, benchmark) for benchmark in reported(evaluation) if was_run(benchmark)
    )
    parts: list[Part] = [Paragraph(_summary(evaluation))]
    if leaders:
        parts.append(Bullets(leaders))
    return Section("summary", "Summary", (*parts, *_tables(evaluation)))


def _summary(evaluation: Evaluation) -> str:
    methods = representations_of(evaluation, "method")
    floors = representations_of(evaluation, "floor")
    sentences = [f"This report compares {counted(len(methods), 'method')}{_named(methods)}"]
    if floors:
        sentences[0] += (
            f" with {counted(len(floors), 'floor')} that a learned representation must "
            f"beat{_named(floors)}"
        )
    sentences += [_extent(reported(evaluation)), _budgets(methods)]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _named(representations: Sequence[Representation]) -> str:
    labels = [representation.label for representation in representations]
    return f" ({listed(labels)})" if labels else ""


def _extent(benchmarks: Sequence[BenchmarkRecord]) -> str:
    run = sum(map(was_run, benchmarks))
    text = f"A classifier was fitted on frozen representations in {counted(run, 'benchmark')}"
    missing = len(benchmarks) - run
    return f"{text}; {missing} more could not be run" if missing else text


def _budgets(methods: Sequence[Representation]) -> str:
    """Return a sentence on iterations and batches, methods of the same budget together."""
    by_budget: dict[tuple[int, int | None], list[str]] = {}
    for method in methods:
        if method.iterations is not None:
            by_budget.setdefault((method.iterations, method.batch), []).append(method.label)
    if not by_budget:
        return ""
    budgets = [
        f"{listed(labels)} trained for {iterations:,} iterations"
        + (f" at batch {batch:,}" if batch is not None else "")
        for (iterations, batch), labels in by_budget.items()
    ]
    return "; ".join(budgets)


def _leader(evaluation: Evaluation, benchmark: BenchmarkRecord) -> str:
    """Return a sentence on the best method, the next one, the floors, and DEAPS."""
    order = ranked(evaluation, benchmark, "method")
    if not order:
        return f"{benchmark.title}. No method was tested."
    best = best_methods(evaluation, benchmark)
    value = order[0][1].value
    names = listed(method.label for method, _ in order if method.name in best)
    verb = "leads" if len(best) == 1 else "lead"
    sentence = f"{benchmark.title}. {names} {verb} with {percentage(value)}"
    others = [pair for pair in order if pair[0].name not in best]
    if others:
        sentence += _margin(order[0][1], *others[0])
    return sentence + "." + _floor(evaluation, benchmark, value) + _place_of_deaps(order)


def _margin(best: Score, other: Representation, score: Score) -> str:
    overlap = best.low is not None and score.high is not None and best.low <= score.high
    text = f", {100 * (best.value - score.value):.1f} points above {other.label}"
    return text + (" (their intervals overlap)" if overlap else "")


def _floor(evaluation: Evaluation, benchmark: BenchmarkRecord, best: float) -> str:
    floors = ranked(evaluation, benchmark, "floor")
    if not floors:
        return ""
    floor, score = floors[0]
    difference = 100 * (best - score.value)
    relation = "above" if difference >= 0 else "below"
    which = "the better floor" if len(floors) > 1 else "the floor"
    return (
        f" That is {abs(difference):.1f} points {relation} {which}, "
        f"{floor.label} ({percentage(score.value)})."
    )


def _place_of_deaps(order: Sequence[tuple[Representation, Score]]) -> str:
    """Return where DEAPS stands, if it was tested and does not lead."""
    for method, score in order:
        if method.name == DEAPS.name and score.value < order[0][1].value:
            place = 1 + sum(other.value > score.value for _, other in order)
            where = f"{ordinal(place)} of {len(order)}"
            return f" {method.label} is {where} with {percentage(score.value)}."
    return ""


def _tables(evaluation: Evaluation) -> list[Table]:
    """Return tables of a few benchmarks each; those that were not run are rows of the last."""
    benchmarks = reported(evaluation)
    if not benchmarks:
        return []
    run = [benchmark for benchmark in benchmarks if was_run(benchmark)]
    missing = [benchmark for benchmark in benchmarks if not was_run(benchmark)]
    starts = range(0, len(run), _MOST_BENCHMARKS) or range(1)
    return [
        _table(
            evaluation,
            run[start : start + _MOST_BENCHMARKS],
            missing if start == starts[-1] else [],
            place=place,
        )
        for place, start in enumerate(starts)
    ]


def _table(
    evaluation: Evaluation,
    run: Sequence[BenchmarkRecord],
    missing: Sequence[BenchmarkRecord],
    *,
    place: int,
) -> Table:
    bodies = [
        _body(evaluation, run, role="method"),
        _body(evaluation, run, role="floor"),
        Body((Row("majority class", _majority(run)),) if run else ()),
        Body(tuple(Row(benchmark.title, sentence=why_not_run(benchmark)) for benchmark in missing)),
    ]
    return Table(
        id=f"table-accuracy-{place + 1}",
        caption="Total accuracy of each method and floor, beside the paper's.",
        corner="",
        groups=tuple(ColumnGroup(benchmark.title, ("here", "paper")) for benchmark in run),
        bodies=tuple(body for body in bodies if body.rows),
        notes=_NOTES,
    )


def _body(
    evaluation: Evaluation, run: Sequence[BenchmarkRecord], *, role: RepresentationRole
) -> Body:
    rows = [
        Row(
            representation.label,
            tuple(
                cell for benchmark in run for cell in _pair(evaluation, benchmark, representation)
            ),
        )
        for representation in representations_of(evaluation, role)
    ]
    return Body(tuple(rows) if run else (), title=ROLE_TITLES[role])


def _pair(
    evaluation: Evaluation, benchmark: BenchmarkRecord, representation: Representation
) -> tuple[Cell, Cell]:
    best = representation.name in best_methods(evaluation, benchmark)
    here = accuracy_cell(accuracy(benchmark, representation.name), best=best)
    return here, paper_cell(benchmark, representation, "accuracy")


def _majority(run: Sequence[BenchmarkRecord]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for benchmark in run:
        share = benchmark.facts.majority if benchmark.facts else None
        cells += [Cell(percent(share)), UNDEFINED]
    return tuple(cells)
