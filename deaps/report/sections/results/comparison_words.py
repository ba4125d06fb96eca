"""A benchmark's paired differences as sentences: ahead of whom, behind whom, not told from whom."""

from __future__ import annotations

from collections.abc import Iterable

from deaps.evaluation.document import (
    BenchmarkRecord,
    ComparisonFamily,
    Difference,
    Evaluation,
    MetricComparison,
)
from deaps.report.columns import METRIC_TITLES
from deaps.report.results import representation_label
from deaps.report.sections.results.differences import too_few_subjects
from deaps.report.wording import listed, points, points_between

_FAMILIES: tuple[ComparisonFamily, ...] = ("methods", "floors")
_OTHER_METRICS = ("auroc", "f1")


def comparison_sentences(evaluation: Evaluation, benchmark: BenchmarkRecord) -> list[str]:
    """Return how the reference compares with methods and floors.

    By accuracy every rival is named, by AUROC and F1 those whose difference counts.
    """
    sentences = []
    for family in _FAMILIES:
        if comparison := benchmark.comparison(family, "accuracy"):
            sentences += _by_accuracy(evaluation, comparison)
    for metric in _OTHER_METRICS:
        sentences += _by_other_metric(evaluation, benchmark, metric)
    return sentences


def _by_accuracy(evaluation: Evaluation, comparison: MetricComparison) -> list[str]:
    if sentence := too_few_subjects(comparison):
        return [sentence]
    reference = representation_label(evaluation, comparison.reference)
    sentences = [f"{reference} is {words}." for words in _places(evaluation, comparison)]
    if alike := [d for d in comparison.differences if not d.counts]:
        sentences.append(f"{reference} cannot be told from {_rivals(evaluation, alike)}.")
    return sentences


def _by_other_metric(evaluation: Evaluation, benchmark: BenchmarkRecord, metric: str) -> list[str]:
    found = [benchmark.comparison(family, metric) for family in _FAMILIES]
    places = [words for c in found if c is not None for words in _places(evaluation, c)]
    if not places:
        return []
    reference = next(c.reference for c in found if c is not None)
    label = representation_label(evaluation, reference)
    return [f"By {METRIC_TITLES[metric]}, {label} is {listed(places)}."]


def _places(evaluation: Evaluation, comparison: MetricComparison) -> list[str]:
    """Return whom the reference is ahead of and whom behind, as far as the difference counts."""
    counted = [d for d in comparison.differences if d.counts]
    sides = {
        "ahead of": [d for d in counted if d.value > 0],
        "behind": [d for d in counted if d.value < 0],
    }
    return [f"{side} {_rivals(evaluation, found)}" for side, found in sides.items() if found]


def _rivals(evaluation: Evaluation, differences: Iterable[Difference]) -> str:
    return listed(_rival(evaluation, difference) for difference in differences)


def _rival(evaluation: Evaluation, difference: Difference) -> str:
    label = representation_label(evaluation, difference.rival)
    article = "the " if label.endswith("encoder") else ""
    between = points_between(difference.family_low, difference.family_high)
    return f"{article}{label} ({points(difference.value)} points {between})"
