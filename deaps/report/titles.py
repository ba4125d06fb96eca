"""Names for people of what the document refers to by key."""

from __future__ import annotations

from deaps.evaluation import Evaluation, RepresentationRole

ROLE_TITLES: dict[RepresentationRole, str] = {
    "method": "Methods",
    "floor": "Floors",
    "ablation": "Ablations",
}
"""Roles in the order of tables."""


def benchmark_title(evaluation: Evaluation, name: str) -> str:
    """Return the title of a benchmark, or the key itself where it has no entry."""
    return next((one.title for one in evaluation.benchmarks if one.name == name), name)


def representation_label(evaluation: Evaluation, name: str) -> str:
    """Return the label of a representation, or the key itself where it has no entry."""
    return next((one.label for one in evaluation.representations if one.name == name), name)
