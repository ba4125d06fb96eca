"""Write the tables of the open experiment from its report.

Use: ``python -m experiments.open.experiment_tables [FOLDER]``.

The figures are kept as ``open-experiment.json``: the report's document without its pictures. From
that, tables are written between the marks ``<!-- table NAME -->`` and ``<!-- end -->`` of pages.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from deaps.evaluation.document import (
    ComparisonFamily,
    Difference,
    Evaluation,
    Outcome,
    Representation,
    Score,
    read_evaluation,
)
from deaps.evaluation.metrics import metric_title
from deaps.report.wording import NOTHING, percent, points
from experiments.open.few_label_tables import few_label_differences, few_labels
from experiments.open.marked_tables import (
    CHALLENGE,
    CHALLENGE_F1,
    LEAVE_ONE_OF_SEVEN_OUT,
    LEAVE_ONE_OUT,
    LEAVE_ONE_OUT_AUROC,
    SEX,
    TRANSFER,
    TRANSFER_ACCURACY,
    Column,
    as_table,
    difference_cell,
    figure_cell,
    with_tables,
)

ONE_PERSON_A_FOLD = ("afib-loo", "afib-loo-fitted")
RECORD = Path(__file__).with_name("open-experiment.json")
ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "docs" / "open-experiment.md", ROOT / "README.md")

ALL = (
    TRANSFER,
    TRANSFER_ACCURACY,
    LEAVE_ONE_OUT,
    LEAVE_ONE_OUT_AUROC,
    LEAVE_ONE_OF_SEVEN_OUT,
    SEX,
    CHALLENGE,
    CHALLENGE_F1,
)
COMPARED = (
    TRANSFER,
    TRANSFER_ACCURACY,
    LEAVE_ONE_OUT,
    LEAVE_ONE_OUT_AUROC,
    SEX,
    CHALLENGE,
    CHALLENGE_F1,
)
JOINED = (
    *COMPARED,
    LEAVE_ONE_OF_SEVEN_OUT,
    Column("afib-loo-fitted", "balanced accuracy", "the same: balanced accuracy"),
)
OVERLAP = (
    Column("challenge2017", "accuracy", "validation recordings removed: accuracy"),
    Column("challenge2017-leaking", "accuracy", "kept (leaks): accuracy"),
    Column("challenge2017", "f1", "removed: F1"),
    Column("challenge2017-leaking", "f1", "kept (leaks): F1"),
)
INNER = (
    Column("inner-folds", "accuracy", "many labels"),
    Column("inner-few", "accuracy", "few labels"),
    Column("inner-afib", "accuracy", "AFib across people"),
)


def figures(evaluation: Evaluation) -> str:
    """Return every method and baseline on every reported benchmark."""
    rows = _of_roles(evaluation, "method", "joined", "baseline")
    lines = [[r.label, _seeds(evaluation, r), *_cells(evaluation, r.name, ALL)] for r in rows]
    return as_table(["", "seeds", *(c.head for c in ALL)], [*lines, _majority(evaluation)])


def headline(evaluation: Evaluation) -> str:
    """Return the figures that a reader of the README wants first."""
    columns = (TRANSFER, LEAVE_ONE_OUT, CHALLENGE)
    names = ("deaps", "byol", "pclr", "random", "rr", "classical")
    rows = [r for name in names for r in evaluation.representations if r.name == name]
    lines = [[r.label, *_cells(evaluation, r.name, columns)] for r in rows]
    return as_table(["", *(c.head for c in columns)], lines)


def differences(evaluation: Evaluation) -> str:
    """Return the reference less every other method and baseline."""
    return _differences(evaluation, COMPARED, "methods", "baselines")


def joined(evaluation: Evaluation) -> str:
    """Return what the reference's features add to the RR numbers."""
    lines = [
        [column.head, difference_cell(difference)]
        for column in JOINED
        for difference in _compared(evaluation, column, "joined")
    ]
    return as_table(["", "DEAPS + RR minus RR"], lines)


def overlap(evaluation: Evaluation) -> str:
    """Return Challenge 2017 without and with its validation recordings among those fitted on."""
    rows = _of_roles(evaluation, "method", "joined", "baseline")
    lines = [[r.label, *_cells(evaluation, r.name, OVERLAP)] for r in rows]
    return as_table(["", *(c.head for c in OVERLAP)], lines)


def ranks(evaluation: Evaluation) -> str:
    """Return the methods' mean ranks over the reported benchmarks, and the rank on each."""
    found = evaluation.ranks
    if found is None:
        return as_table(["", "mean rank"], [])
    heads = [_title(evaluation, name) for name in found.by_benchmark]
    lines = [
        [
            evaluation.representation(method).label,
            f"{mean:.1f}",
            *(f"{own[method]:g}" for own in found.by_benchmark.values()),
        ]
        for method, mean in found.mean.items()
    ]
    return as_table(["", "mean rank", *heads], lines)


def probes(evaluation: Evaluation) -> str:
    """Return the figures with every other classifier, a table for each."""
    names = dict.fromkeys(p.probe for b in evaluation.benchmarks for p in b.probes)
    rows = _of_roles(evaluation, "method", "baseline")
    tables = []
    for probe in names:
        lines = [
            [r.label, *(figure_cell(_probed(evaluation, probe, r.name, c)) for c in COMPARED)]
            for r in rows
        ]
        tables.append(as_table([probe, *(c.head for c in COMPARED)], lines))
    return "\n\n".join(tables)


def _probed(evaluation: Evaluation, probe: str, name: str, column: Column) -> Score | None:
    for benchmark in evaluation.benchmarks:
        for outcome in benchmark.probes:
            found = (benchmark.name, outcome.probe, outcome.representation)
            if found == (column.benchmark, probe, name):
                return next((s for s in outcome.scores if s.metric == column.metric), None)
    return None


def components(evaluation: Evaluation) -> str:
    """Return the ablations from BYOL to DEAPS: their figures, and DEAPS minus each."""
    return _rows_and_differences(evaluation, _ablation(evaluation, "components"), "components")


def sizes(evaluation: Evaluation) -> str:
    """Return DEAPS with other spans of a triplet and other numbers of features."""
    rows = (row for name in ("span", "features") for row in _ablation(evaluation, name))
    return _rows_and_differences(evaluation, rows, "sizes")


def _rows_and_differences(
    evaluation: Evaluation, rows: Iterable[tuple[str, str]], family: ComparisonFamily
) -> str:
    lines = [[label, *_cells(evaluation, name, COMPARED)] for label, name in rows]
    table = as_table(["", *(c.head for c in COMPARED)], lines)
    return f"{table}\n\n{_differences(evaluation, COMPARED, family)}"


def seeds(evaluation: Evaluation) -> str:
    """Return the AUROC of the transfer by seed."""
    lines = []
    for each in _of_roles(evaluation, "method"):
        score = _score(evaluation, each.name, TRANSFER)
        by_seed = dict(
            zip((r.seed for r in each.runs), score.by_seed if score else (), strict=False)
        )
        lines.append([each.label, *(percent(by_seed.get(seed)) for seed in _all_seeds(evaluation))])
    return as_table(["", *(f"seed {seed}" for seed in _all_seeds(evaluation))], lines)


def growth(evaluation: Evaluation) -> str:
    """Return figures along the iterations, and what each doubling of them gained."""
    lines = []
    for curve in evaluation.evolution:
        if curve.benchmark not in {TRANSFER.benchmark, CHALLENGE.benchmark}:
            continue
        label = evaluation.representation(curve.representation).label
        course = ", ".join(
            f"{percent(value)} at {step:,}"
            for step, value in zip(curve.steps, curve.values, strict=True)
        )
        gain = points(curve.doubling_gain)
        if curve.doubling_error is not None:
            gain += f" ± {percent(curve.doubling_error)}"
        measured = f"{_title(evaluation, curve.benchmark)}: {metric_title(curve.metric)}"
        lines.append([measured, label, course, gain])
    lines.sort(key=lambda line: line[0])
    return as_table(["", "", "along the iterations", "gain of a doubling"], lines)


def gradual(evaluation: Evaluation) -> str:
    """Return what the gradual loss uses, run by run."""
    heads = ["", "true middle", "i and j swapped", "first window", "another subject's middle"]
    lines = [
        [
            f"{evaluation.representation(use.representation).label}, seed {use.seed}",
            *(f"{value:.3f}" for value in (use.own, use.swapped, use.first, use.other_subject)),
        ]
        for use in evaluation.gradual
    ]
    return as_table(heads, lines)


def inner(evaluation: Evaluation) -> str:
    """Return the scores on the inner folds, seed by seed, by which an encoder is shipped."""
    facts = {b.name: b.facts for b in evaluation.benchmarks}
    majority = [fact.majority if (fact := facts.get(c.benchmark)) else None for c in INNER]
    rows = [("majority class", majority)]
    for each in _of_roles(evaluation, "method", "ablation", "baseline"):
        scores = [_score(evaluation, each.name, column) for column in INNER]
        if each.runs:
            for place, run in enumerate(each.runs):
                values = [_at(score, place) for score in scores]
                rows.append((f"{each.label}, seed {run.seed}", values))
        else:
            rows.append((each.label, [score.value if score else None for score in scores]))
    lines = [
        [name, *map(percent, values), f"{100 * sum(given) / len(given):.2f}"]
        for name, values in rows
        if len(given := [value for value in values if value is not None]) == len(INNER)
    ]
    lines.sort(key=lambda line: -float(line[-1]))
    return as_table(["", *(c.head for c in INNER), "mean"], lines)


TABLES: dict[str, Callable[[Evaluation], str]] = {
    "figures": figures,
    "headline": headline,
    "differences": differences,
    "joined": joined,
    "overlap": overlap,
    "ranks": ranks,
    "probes": probes,
    "components": components,
    "sizes": sizes,
    "seeds": seeds,
    "growth": growth,
    "gradual": gradual,
    "few-labels": few_labels,
    "few-label-differences": few_label_differences,
    "inner": inner,
}


def tables_of(evaluation: Evaluation) -> dict[str, Callable[[], str]]:
    """Return what makes each table from an evaluation."""
    return {name: partial(make, evaluation) for name, make in TABLES.items()}


def as_record(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation without pictures and tables of errors.

    Of single folds it has those of one person each.
    """
    benchmarks = tuple(
        benchmark.model_copy(
            update={
                "outcomes": tuple(_bare(outcome, benchmark.name) for outcome in benchmark.outcomes)
            }
        )
        for benchmark in evaluation.benchmarks
    )
    drawn = ("pca", "training", "quality", "strips", "quality_examples", "nights", "quality_grades")
    nothing: dict[str, object] = {**dict.fromkeys(drawn, ()), "map": None}
    return evaluation.model_copy(update={**nothing, "benchmarks": benchmarks})


def _bare(outcome: Outcome, benchmark: str) -> Outcome:
    folds = outcome.folds if benchmark in ONE_PERSON_A_FOLD else ()
    return outcome.model_copy(update={"confusion": (), "folds": folds})


def _of_roles(evaluation: Evaluation, *roles: str) -> list[Representation]:
    return [r for role in roles for r in evaluation.representations if r.role == role]


def _score(evaluation: Evaluation, name: str, column: Column) -> Score | None:
    for benchmark in evaluation.benchmarks:
        if benchmark.name == column.benchmark and (outcome := benchmark.outcome(name)):
            return outcome.score(column.metric)
    return None


def _at(score: Score | None, place: int) -> float | None:
    return score.by_seed[place] if score and place < len(score.by_seed) else None


def _cells(evaluation: Evaluation, name: str, columns: Iterable[Column]) -> Iterator[str]:
    return (figure_cell(_score(evaluation, name, column)) for column in columns)


def _seeds(evaluation: Evaluation, representation: Representation) -> str:
    score = _score(evaluation, representation.name, CHALLENGE)
    return str(len(score.by_seed)) if score else NOTHING


def _all_seeds(evaluation: Evaluation) -> list[int]:
    return sorted({run.seed for r in _of_roles(evaluation, "method") for run in r.runs})


def _majority(evaluation: Evaluation) -> list[str]:
    facts = {b.name: b.facts for b in evaluation.benchmarks}
    cells = []
    for column in ALL:
        fact = facts.get(column.benchmark)
        cells.append(percent(fact.majority) if fact and column.metric == "accuracy" else "")
    return ["majority class", "", *cells]


def _title(evaluation: Evaluation, benchmark: str) -> str:
    """Return what a benchmark is called in the heads of columns, else its title."""
    short = {c.benchmark: c.head.split(":")[0] for c in ALL}
    titles = {b.name: b.title for b in evaluation.benchmarks}
    return short.get(benchmark, titles[benchmark])


def _ablation(evaluation: Evaluation, name: str) -> Iterator[tuple[str, str]]:
    """Yield label and representation of each row that was trained."""
    for ablation in evaluation.ablations:
        if ablation.name == name:
            for row in ablation.rows:
                if row.representation is not None:
                    yield row.label, row.representation


def _differences(
    evaluation: Evaluation, columns: Sequence[Column], *families: ComparisonFamily
) -> str:
    by_comparator: dict[str, dict[Column, Difference]] = {}
    for column in columns:
        for family in families:
            for difference in _compared(evaluation, column, family):
                by_comparator.setdefault(difference.comparator, {})[column] = difference
    lines = [
        [
            evaluation.representation(comparator).label,
            *(difference_cell(own.get(c)) for c in columns),
        ]
        for comparator, own in by_comparator.items()
    ]
    return as_table(["DEAPS minus", *(c.head for c in columns)], lines)


def _compared(
    evaluation: Evaluation, column: Column, family: ComparisonFamily
) -> Sequence[Difference]:
    for benchmark in evaluation.benchmarks:
        if benchmark.name == column.benchmark:
            comparison = benchmark.comparison(family, column.metric)
            return comparison.differences if comparison else ()
    return ()


def main(folder: Path | None) -> None:
    """Write the tables of all pages from the record, made first if a folder is given."""
    if folder is not None:
        evaluation = as_record(read_evaluation(folder))
        RECORD.write_text(evaluation.model_dump_json(indent=1) + "\n", encoding="utf-8")
    tables = tables_of(Evaluation.model_validate_json(RECORD.read_text(encoding="utf-8")))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(with_tables(text, tables), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
