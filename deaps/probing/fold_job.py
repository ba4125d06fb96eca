"""One fold of a benchmark: what a worker needs, and what it does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deaps.probing.classifier import fit_predict
from deaps.probing.examples import Fold, Windows, average_windows
from deaps.probing.features import FeatureTable, read_features
from deaps.probing.plan import Plan


@dataclass(frozen=True, slots=True)
class FoldJob:
    """The part of a plan that a classifier needs; it holds no names."""

    labels: NDArray[np.int8]
    windows: Windows
    owner: NDArray[np.int64]
    folds: tuple[Fold, ...]

    @classmethod
    def of(cls, plan: Plan) -> FoldJob:
        """Return what the classifier needs of a plan."""
        examples = plan.examples
        return cls(examples.labels, examples.windows, examples.owner, plan.folds)

    def predict(self, table: FeatureTable, fold: int) -> NDArray[np.int8]:
        """Return the predictions of one fold's test side."""
        features = average_windows(table.of(self.windows), self.owner)
        split = self.folds[fold]
        train, test = features[split.train], features[split.test]
        return fit_predict(train, self.labels[split.train], test)


def predict_from_file(job: FoldJob, path: Path, fold: int) -> NDArray[np.int8]:
    """Return the predictions of one fold with the features in a file."""
    return job.predict(_table(path), fold)


@lru_cache(maxsize=2)
def _table(path: Path) -> FeatureTable:
    """Return a file's features; folds of one file follow each other, and files never change."""
    return read_features(path)
