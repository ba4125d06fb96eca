"""A benchmark made ready on a snapshot: guarded splits, and the facts its figures rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from deaps import evaluation
from deaps.benchmarks.interface import Benchmark
from deaps.config import BenchmarkSettings
from deaps.data_part import DataPart
from deaps.probing.examples import Examples, Fold, Windows
from deaps.probing.scores import (
    count_predictions,
    fold_scores,
    majority_accuracy,
    measure,
)
from deaps.probing.split_guard import guarded


@dataclass(frozen=True, slots=True)
class Plan:
    """A benchmark with its examples and splits."""

    benchmark: Benchmark
    settings: BenchmarkSettings
    examples: Examples
    folds: tuple[Fold, ...]
    facts: evaluation.BenchmarkFacts


def plan_benchmark(
    benchmark: Benchmark,
    index: duckdb.DuckDBPyConnection,
    settings: BenchmarkSettings,
    labels: evaluation.DatasetLabels,
) -> Plan:
    """Return the benchmark ready to be run on the snapshot of an open index.

    Raises
    ------
    NotRunError
        If the snapshot does not hold what it needs.
    LeakError
        If a split would let the classifier know what it is tested on.
    """
    examples, removed = benchmark.examples(index, settings)
    folds = guarded(examples, benchmark.folds(examples, settings))
    facts = evaluation.BenchmarkFacts(
        examples=_by_class(benchmark, examples.labels),
        windows=_by_class(benchmark, examples.labels[examples.owner]),
        tested=_by_class(benchmark, examples.labels[_tested(folds)]),
        subjects=len(np.unique(examples.subjects)),
        folds=len(folds),
        majority=majority_accuracy(examples, folds),
        quality_rule=benchmark.quality_rule(settings),
        label_version=_label_versions(index, benchmark.datasets(settings), labels),
        seed=settings.seed,
        removed=removed,
    )
    return Plan(benchmark, settings, examples, folds, facts)


def outcome(
    plan: Plan, representation: str, predictions: Sequence[NDArray[np.int8]]
) -> evaluation.Outcome:
    """Return a representation's figures from its predictions, one array for each fold."""
    benchmark = plan.benchmark
    counts = count_predictions(plan.examples, plan.folds, predictions, len(benchmark.classes))
    scores = measure(
        counts,
        benchmark.classes,
        benchmark.positive,
        bootstrap=plan.settings.bootstrap,
        seed=plan.settings.seed,
        agreement=benchmark.agreement,
    )
    return evaluation.Outcome(
        representation=representation,
        scores=scores,
        confusion=tuple(map(tuple, counts.confusion.sum(axis=0).tolist())),
        folds=fold_scores(counts, plan.folds),
    )


def windows_of(plans: Iterable[Plan]) -> Windows:
    """Return every window behind some benchmarks once, by recording and row."""
    keys = [plan.examples.windows.key for plan in plans]
    unique = np.unique(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
    return Windows((unique >> 32).astype(np.int32), (unique & 0xFFFFFFFF).astype(np.int32))


def _tested(folds: Sequence[Fold]) -> NDArray[np.int64]:
    return np.unique(np.concatenate([fold.test for fold in folds]))


def _by_class(benchmark: Benchmark, labels: NDArray[np.int8]) -> dict[str, int]:
    counts = np.bincount(labels, minlength=len(benchmark.classes))
    return dict(zip(benchmark.classes, counts.tolist(), strict=True))


def _label_versions(
    index: duckdb.DuckDBPyConnection, datasets: tuple[str, ...], labels: evaluation.DatasetLabels
) -> str | None:
    sql = "SELECT dataset, label_source FROM datasets WHERE list_contains($names, dataset)"
    names = [DataPart.parse(name).dataset for name in datasets]
    sources = index.execute(sql, {"names": names}).fetchall()
    texts = [f"{labels[dataset]}: {source}" for dataset, source in sorted(sources) if source]
    return "; ".join(texts) or None
