"""What the gradual loss really uses, from what DEAPS logs beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from deaps.evaluation.document import GradualUse
from deaps.evaluation.representations import FinishedRun
from deaps.training.metrics import read_metrics

_COLUMNS = {
    "own": "gradual",
    "swapped": "gradual_swapped",
    "first": "gradual_first",
    "stranger": "gradual_stranger",
}
"""Metrics of `deaps.methods.deaps`, by the field that has their mean."""

_LAST_SHARE = 0.05
"""Share of the steps at the end that is averaged: one batch says little."""


def gradual_uses(finished: Sequence[FinishedRun]) -> Iterator[GradualUse]:
    """Yield what the gradual loss of each run used, of the runs that have that loss."""
    for each in finished:
        last = last_means(read_metrics(each.run.folder))
        if last is not None:
            yield GradualUse(representation=each.trained.name, seed=each.trained.key.seed, **last)


def last_means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float] | None:
    """Return the means over the last steps; None if the loss was not logged, or is not finite."""
    whole = [row for row in rows if _is_whole(row)]
    if not whole:
        return None
    start = (1 - _LAST_SHARE) * whole[-1]["step"]
    last = [row for row in whole if row["step"] >= start]
    return {
        field: float(np.mean([row[column] for row in last])) for field, column in _COLUMNS.items()
    }


def _is_whole(row: Mapping[str, Any]) -> bool:
    return all(math.isfinite(row.get(column, math.nan)) for column in _COLUMNS.values())
