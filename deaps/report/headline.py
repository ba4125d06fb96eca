"""The result in short: who leads each benchmark, and total accuracy next to the paper's."""

from __future__ import annotations

from collections.abc import Sequence

from deaps.evaluation.document import (
    BenchmarkRecord,
    Evaluation,
    Representation,
    RepresentationRole,
    Score,
)
from deaps.method_registry import DEAPS
from deaps.paper import CLAIM_NOTE, FIGURE_NOTES
from deaps.report.cells import UNDEFINED, accuracy_cell, paper_cell
from deaps.report.differences import comparison_sentences
from deaps.report.parts import (
    Body,
    Bullets,
    Cell,
    ColumnGroup,
    Notice,
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
    interval_words,
    missing_seed_notes,
    ranked,
    reported,
    representations_of,
    was_run,
    why_not_run,
)
from deaps.report.wording import counted, listed, ordinal, percent, percentage

_A_HANDFUL = 50
"""Iterations after which an encoder is hardly more than its initial weights."""

_MOST_BENCHMARKS = 4
"""In one table: more would not fit on paper."""

_PAPER_NOTE = (
    "Paper: published figures, after 30,000 iterations (TF-C: 75,000) at batch 256 on SHHS. A "
    "benchmark's protocol names the data sets that were used here."
)


def headline_section(evaluation: Evaluation) -> Section:
    """Return summary, the leader of each benchmark, and the tables of total accuracy."""
    leaders = tuple(
        _leader(evaluation, benchmark)
        for benchmark in reported(evaluation)
        if was_run(benchmark) and benchmark.leak is None
    )
    parts: list[Part] = [Paragraph(_summary(evaluation))]
    if too_early := _too_early(evaluation):
        parts.append(Notice(too_early))
    elif leaders:
        parts.append(Bullets(leaders))
    return Section("summary", "Summary", (*parts, *_tables(evaluation)))


def _too_early(evaluation: Evaluation) -> str | None:
    """Return the sentence on trainings too short to say anything, None if they are not."""
    iterations = [m.iterations for m in representations_of(evaluation, "method") if m.iterations]
    if not iterations or max(iterations) > _A_HANDFUL:
        return None
    return (
        f"After {max(iterations):,} iterations nothing can be concluded about any method: the "
        "figures below only show that the pipeline works; they do not compare the methods."
    )


def _summary(evaluation: Evaluation) -> str:
    methods = representations_of(evaluation, "method")
    baselines = representations_of(evaluation, "baseline")
    sentences = [f"This report compares {counted(len(methods), 'method')}{_named(methods)}"]
    if baselines:
        sentences[0] += (
            f" with {counted(len(baselines), 'baseline')} that a learned representation must "
            f"beat{_named(baselines)}"
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
    """Return sentences on the most accurate method, and on how the reference compares."""
    order = ranked(evaluation, benchmark, "method")
    if not order:
        return f"{benchmark.title}. No method was tested."
    best = best_methods(evaluation, benchmark)
    names = listed(method.label for method, _ in order if method.name in best)
    verb = "has" if len(best) == 1 else "have"
    sentences = [
        f"{benchmark.title}. {names} {verb} the highest accuracy, {percentage(order[0][1].value)}.",
        _place(evaluation, benchmark, order),
        *comparison_sentences(evaluation, benchmark),
    ]
    return " ".join(filter(None, sentences))


def _place(
    evaluation: Evaluation,
    benchmark: BenchmarkRecord,
    order: Sequence[tuple[Representation, Score]],
) -> str:
    """Return where the reference stands, if it was tested and does not lead."""
    comparison = benchmark.comparison("methods", "accuracy")
    reference = comparison.reference if comparison else DEAPS.name
    for method, score in order:
        if method.name == reference and score.value < order[0][1].value:
            place = 1 + sum(other.value > score.value for _, other in order)
            where = f"{ordinal(place)} of {len(order)}"
            return f"{method.label} is {where} with {percentage(score.value)}."
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
        _body(evaluation, run, role="joined"),
        _body(evaluation, run, role="baseline"),
        Body((Row("majority class", _majority(run)),) if run else ()),
        Body(tuple(Row(benchmark.title, sentence=why_not_run(benchmark)) for benchmark in missing)),
    ]
    return Table(
        id=f"table-accuracy-{place + 1}",
        caption="Total accuracy of each method and baseline, next to the paper's.",
        corner="",
        groups=tuple(
            ColumnGroup(_marked(benchmark), ("this report", "paper")) for benchmark in run
        ),
        bodies=tuple(body for body in bodies if body.rows),
        notes=(
            _note(run),
            *missing_seed_notes(evaluation, "method"),
            _PAPER_NOTE,
            *dict.fromkeys(FIGURE_NOTES[b.name] for b in run if b.name in FIGURE_NOTES),
            CLAIM_NOTE,
            *_marks(run),
        ),
    )


def _note(run: Sequence[BenchmarkRecord]) -> str:
    return (
        "All figures are per cent, means over seeds. Brackets hold the 95 % confidence interval "
        f"{interval_words(run)}. ★ and bold type mark the most accurate method. Majority class: "
        "the accuracy of always answering with the most frequent class of the training side."
    )


def _marked(benchmark: BenchmarkRecord) -> str:
    return f"{benchmark.title} †" if benchmark.leak or benchmark.seen else benchmark.title


def _marks(run: Sequence[BenchmarkRecord]) -> list[str]:
    """Return what the daggers mean, a sentence for each benchmark that has one."""
    return [
        f"† {benchmark.title}: {text}"
        for benchmark in run
        for text in (benchmark.leak, benchmark.seen)
        if text
    ]


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
