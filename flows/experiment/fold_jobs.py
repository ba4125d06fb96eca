"""Folds of all benchmarks and representations, each a job of its own for the workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deaps.probing.comparison import OutcomeKey, Outcomes
from deaps.probing.fold_job import FoldJob, predict_from_file
from deaps.probing.plan import Plan, outcome

if TYPE_CHECKING:
    from distributed import Client


def run_folds(
    wanted: Sequence[tuple[OutcomeKey, Path]],
    plans: Mapping[str, Plan],
    client: Client,
    advance: Callable[[int], None] = lambda n: None,
) -> Outcomes:
    """Return every wanted outcome, computed from its file of features."""
    from distributed import as_completed

    # Tasks, not scattered data: what a dead worker held is then made again.
    fold_jobs = {
        name: client.submit(_itself, FoldJob.of(plan), pure=False) for name, plan in plans.items()
    }
    futures = {}
    for key, path in wanted:
        for fold in range(len(plans[key.benchmark].folds)):
            job = fold_jobs[key.benchmark]
            future = client.submit(predict_from_file, job, path, fold, pure=False)
            futures[future] = (key, fold)
    predictions: dict[OutcomeKey, dict[int, NDArray[np.int8]]] = defaultdict(dict)
    for future in as_completed(futures):
        key, fold = futures[future]
        predictions[key][fold] = future.result()
        future.release()
        advance(1)
    return {
        key: outcome(plans[key.benchmark], key.representation, _in_order(predictions[key]))
        for key, _ in wanted
    }


def _itself(job: FoldJob) -> FoldJob:
    return job


def _in_order(by_fold: Mapping[int, NDArray[np.int8]]) -> list[NDArray[np.int8]]:
    return [by_fold[fold] for fold in sorted(by_fold)]
