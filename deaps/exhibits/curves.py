"""What a run logged, for drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from deaps.evaluation.document import TrainingCurve
from deaps.exhibits import NotShownError
from deaps.exhibits.json_numbers import plain_floats

MOST_POINTS = 200
_DRAWN = ("loss", "representation_std", "effective_rank", "windows_per_s")


def training_curve(representation: str, rows: Sequence[dict[str, Any]]) -> TrainingCurve:
    """Return a run's metrics, thinned to at most 200 rows at even distances, ends included.

    Rows come from `deaps.training.metrics.read_metrics`. One with a value that is not finite is
    left out of the drawing; its time counts.

    Raises
    ------
    NotShownError
        If there is no row to draw.
    """
    whole = [row for row in rows if all(math.isfinite(row[name]) for name in _DRAWN)]
    if not whole:
        raise NotShownError(f"{len(rows)} rows of metrics, none of them finite; nothing to draw")
    places = np.linspace(0, len(whole) - 1, min(MOST_POINTS, len(whole)))
    kept = [whole[i] for i in np.rint(places).astype(int).tolist()]
    return TrainingCurve(
        representation=representation,
        steps=tuple(int(row["step"]) for row in kept),
        seconds=total_seconds(rows),
        **{name: plain_floats([row[name] for row in kept]) for name in _DRAWN},
    )


def total_seconds(rows: Sequence[dict[str, Any]]) -> float:
    """Return the time of all steps: each row has the mean time of those since the row before."""
    before, seconds = 0, 0.0
    for row in rows:
        seconds += row["step_s"] * (row["step"] - before)
        before = row["step"]
    return float(seconds)
