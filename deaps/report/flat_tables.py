"""The report's figures as flat tables (CSV): a row a figure, names for people, plain numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from deaps.evaluation.document import Evaluation, MetricComparison, Outcome, ProbeOutcome, Score
from deaps.report.results import benchmark_title, dataset_label, representation_label
from deaps.report.wording import listed

FlatRow = dict[str, object]

TABLES_FOLDER = "tables"

ABOUT_TABLES = {
    "figures.csv": "every figure of every benchmark, with its interval",
    "differences.csv": "every method and floor compared with the reference",
    "folds.csv": "the accuracy of each fold",
    "few-labels.csv": "the figures by number of annotated people",
    "few-label-differences.csv": "the differences by number of annotated people",
}
"""Names of the tables, and what each contains."""


def flat_tables(evaluation: Evaluation) -> dict[str, str]:
    """Return the text of each table, by its name; a table without rows has its heads alone.

    Values are shares of one, not per cent. If data are synthetic, each row names them.
    """
    rows = (
        (_FIGURES, _figures(evaluation)),
        (_DIFFERENCES, _differences(evaluation)),
        (_FOLDS, _folds(evaluation)),
        (_CURVES, _curves(evaluation)),
        (_CURVE_DIFFERENCES, _curve_differences(evaluation)),
    )
    mark = _synthetic(evaluation)
    return {
        name: _csv((*heads, "synthetic"), ({**row, "synthetic": mark} for row in table))
        for name, (heads, table) in zip(ABOUT_TABLES, rows, strict=True)
    }


_FIGURES = (
    *("benchmark", "benchmark_title", "representation", "label", "classifier", "metric"),
    *("value", "low", "high", "deviation", "n", "interval_over", "leaks"),
)
_DIFFERENCES = (
    *("benchmark", "benchmark_title", "metric", "reference", "rival", "difference", "low", "high"),
    *("family_low", "family_high", "p", "p_holm", "people", "counts"),
)
_FOLDS = ("benchmark", "benchmark_title", "representation", "label", "fold", "n", "accuracy")
_CURVES = (
    *("benchmark", "benchmark_title", "representation", "label", "metric", "people"),
    *("value", "low", "high", "draws", "interval_over"),
)
_CURVE_DIFFERENCES = (*_DIFFERENCES, "annotated_people")


def _figures(evaluation: Evaluation) -> Iterator[FlatRow]:
    for benchmark in evaluation.benchmarks:
        about = {**_benchmark(evaluation, benchmark.name), "leaks": benchmark.leak or ""}
        outcomes: list[Outcome | ProbeOutcome] = [*benchmark.outcomes, *benchmark.probes]
        for outcome in outcomes:
            probe = outcome.probe if isinstance(outcome, ProbeOutcome) else "as in the tables"
            who = {**_representation(evaluation, outcome.representation), "classifier": probe}
            for score in outcome.scores:
                yield {**about, **who, **_score(score)}


def _score(score: Score) -> FlatRow:
    return {
        **score.model_dump(include={"metric", "value", "low", "high", "deviation", "n"}),
        "interval_over": score.scope,
    }


def _differences(evaluation: Evaluation) -> Iterator[FlatRow]:
    for benchmark in evaluation.benchmarks:
        for comparison in benchmark.comparisons:
            yield from _of_comparison(evaluation, benchmark.name, comparison)


def _of_comparison(
    evaluation: Evaluation, benchmark: str, comparison: MetricComparison
) -> Iterator[FlatRow]:
    about = {
        **_benchmark(evaluation, benchmark),
        "metric": comparison.metric,
        "reference": representation_label(evaluation, comparison.reference),
        "people": comparison.n_subjects,
    }
    for difference in comparison.differences:
        yield {
            **about,
            **difference.model_dump(exclude={"rival", "value", "exact", "scope"}),
            "rival": representation_label(evaluation, difference.rival),
            "difference": difference.value,
        }


def _folds(evaluation: Evaluation) -> Iterator[FlatRow]:
    for benchmark in evaluation.benchmarks:
        for outcome in benchmark.outcomes:
            who = _representation(evaluation, outcome.representation)
            for fold in outcome.folds:
                values = {"fold": fold.name, "n": fold.n, "accuracy": fold.accuracy}
                yield {**_benchmark(evaluation, benchmark.name), **who, **values}


def _curves(evaluation: Evaluation) -> Iterator[FlatRow]:
    for curve in evaluation.few_labels:
        about = {
            **_benchmark(evaluation, curve.benchmark),
            **_representation(evaluation, curve.representation),
            "metric": curve.metric,
        }
        for point in curve.points:
            yield {**about, **point.model_dump(exclude={"scope"}), "interval_over": point.scope}


def _curve_differences(evaluation: Evaluation) -> Iterator[FlatRow]:
    for each in evaluation.few_label_comparisons:
        for row in _of_comparison(evaluation, each.benchmark, each.comparison):
            yield {**row, "annotated_people": each.people}


def _benchmark(evaluation: Evaluation, name: str) -> FlatRow:
    return {"benchmark": name, "benchmark_title": benchmark_title(evaluation, name)}


def _representation(evaluation: Evaluation, name: str) -> FlatRow:
    return {"representation": name, "label": representation_label(evaluation, name)}


def _synthetic(evaluation: Evaluation) -> str:
    names = [dataset_label(evaluation, name) for name in evaluation.synthetic]
    return listed(names) if names else ""


def _csv(heads: Iterable[str], rows: Iterable[FlatRow]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(heads), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
