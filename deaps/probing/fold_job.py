"""One fold of a benchmark: what a worker needs, and what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deaps.probing.examples import Fold, Windows, average_windows
from deaps.probing.features import FeatureTable, read_features
from deaps.probing.plan import Plan
from deaps.probing.probes import PROBES, Answers


@dataclass(frozen=True, slots=True)
class FoldJob:
    """The part of a plan that a probe needs; it holds no names."""

    labels: NDArray[np.int8]
    n_classes: int
    windows: Windows
    owner: NDArray[np.int64]
    folds: tuple[Fold, ...]

    @classmethod
    def of(cls, plan: Plan, *, few_labels: bool = False) -> FoldJob:
        """Return what a probe needs of a plan: its folds, or its draws of few people."""
        examples, n_classes = plan.examples, len(plan.benchmark.classes)
        folds = tuple(draw.fold for draw in plan.label_draws) if few_labels else plan.folds
        return cls(examples.labels, n_classes, examples.windows, examples.owner, folds)

    def answer(self, tables: Sequence[FeatureTable], fold: int, probe: str) -> Answers:
        """Return a probe's answers to one fold's test side, the tables' features side by side."""
        of_windows = np.concatenate([table.of(self.windows) for table in tables], axis=1)
        features = average_windows(of_windows, self.owner)
        split = self.folds[fold]
        train, test = features[split.train], features[split.test]
        return PROBES[probe].fit_predict(train, self.labels[split.train], test, self.n_classes)


def answer_from_files(job: FoldJob, files: Sequence[Path], fold: int, probe: str) -> Answers:
    """Return a probe's answers to one fold with the features in files."""
    return job.answer([_table(path) for path in files], fold, probe)


@lru_cache(maxsize=2)
def _table(path: Path) -> FeatureTable:
    """Return a file's features; folds of one file follow each other, and files never change."""
    return read_features(path)
