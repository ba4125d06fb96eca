"""The same benchmark with other classifiers, and seed by seed: what the result hangs on."""

from __future__ import annotations

from deaps.evaluation.document import BenchmarkRecord, Evaluation, ProbeOutcome, Score
from deaps.report.cells import UNDEFINED, score_cell
from deaps.report.columns import METRIC_TITLES
from deaps.report.parts import Body, Cell, ColumnGroup, Part, Row, Table
from deaps.report.results import representation_label
from deaps.report.wording import percent, slug


def other_probe_tables(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[Part]:
    """Return the figures with other classifiers, and those of each seed; only what there is."""
    tables: list[Part] = []
    if benchmark.probes:
        tables.append(_probe_table(evaluation, benchmark))
    if any(len(score.by_seed) > 1 for outcome in benchmark.outcomes for score in outcome.scores):
        tables.append(_seed_table(evaluation, benchmark))
    return tables


def _probe_table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    probes = list(dict.fromkeys(outcome.probe for outcome in benchmark.probes))
    found = {(o.probe, o.representation): o for o in benchmark.probes}
    measured = {score.metric for outcome in benchmark.probes for score in outcome.scores}
    metrics = [metric for metric in METRIC_TITLES if metric in measured]
    names = dict.fromkeys(outcome.representation for outcome in benchmark.probes)
    rows = tuple(
        Row(
            representation_label(evaluation, name),
            tuple(
                score_cell(_score(found.get((probe, name)), metric))
                for probe in probes
                for metric in metrics
            ),
        )
        for name in names
    )
    heads = tuple(METRIC_TITLES[metric] for metric in metrics)
    return Table(
        id=f"table-probes-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: the same with other classifiers, in per cent.",
        corner="",
        groups=tuple(ColumnGroup(probe, heads) for probe in probes),
        bodies=(Body(rows),),
        folded=True,
    )


def _score(outcome: ProbeOutcome | None, metric: str) -> Score | None:
    scores = outcome.scores if outcome else ()
    return next((score for score in scores if score.metric == metric), None)


def _seed_table(evaluation: Evaluation, benchmark: BenchmarkRecord) -> Table:
    metrics = [m for m in METRIC_TITLES if any(o.score(m) for o in benchmark.outcomes)]
    most = max(len(s.by_seed) for o in benchmark.outcomes for s in o.scores)
    rows = []
    for outcome in benchmark.outcomes:
        cells: list[Cell] = []
        for metric in metrics:
            score = outcome.score(metric)
            values = score.by_seed if score else ()
            cells += [Cell(percent(value)) for value in values]
            cells += [UNDEFINED] * (most - len(values))
        rows.append(Row(representation_label(evaluation, outcome.representation), tuple(cells)))
    heads = tuple(f"run {k + 1}" for k in range(most))
    return Table(
        id=f"table-seeds-{slug(benchmark.name)}",
        caption=f"{benchmark.title}: each seed's figures, in per cent.",
        corner="",
        groups=tuple(ColumnGroup(METRIC_TITLES[metric], heads) for metric in metrics),
        bodies=(Body(tuple(rows)),),
        folded=True,
    )
