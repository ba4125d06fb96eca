"""Benchmarks of all representations: plans on a snapshot, folds by the workers, outcomes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from deaps import evaluation
from deaps.benchmarks import BENCHMARKS, Benchmark
from deaps.probing.fold_job import Fitting, predict_from_file
from deaps.probing.labelled_windows import NotRunError
from deaps.probing.plan import Plan, outcome, plan_benchmark
from flows.config import Settings
from flows.experiment.representations import Compared

if TYPE_CHECKING:
    from distributed import Client

EVOLVING = ("afib-transfer", "challenge2017", "inner-folds", "inner-few")
"""Benchmarks that are followed over a training: the paper's two, and the inner folds, by which
an encoder may be chosen."""

INSTEAD = {"afib-transfer": "afib-loo"}
"""What is followed where the first cannot be run."""


class Cell(NamedTuple):
    """A representation at a step in a benchmark."""

    representation: str
    step: int | None
    benchmark: str


Outcomes = dict[Cell, evaluation.Outcome]


def plan_all(
    index: duckdb.DuckDBPyConnection, settings: Settings
) -> tuple[dict[str, Plan], dict[str, str]]:
    """Return the benchmarks that can be run on a snapshot, and why the others cannot."""
    plans, not_run = {}, {}
    for benchmark in BENCHMARKS.values():
        try:
            plans[benchmark.name] = plan_benchmark(benchmark, index, settings.benchmarks)
        except NotRunError as error:
            not_run[benchmark.name] = _reason(benchmark, settings) or str(error)
    return plans, not_run


def _reason(benchmark: Benchmark, settings: Settings) -> str | None:
    """Return where a data set that the benchmark needs was looked for in vain."""
    roots = settings.data.roots()
    for dataset in benchmark.datasets(settings.benchmarks):
        if dataset not in roots:
            return f"no data: data.{dataset} is not set"
        if not roots[dataset].exists():
            return f"no data at {roots[dataset]}"
    return None


def evolving(plans: Mapping[str, Plan]) -> list[str]:
    """Return the benchmarks that are run at every encoder file."""
    wanted = [name if name in plans else INSTEAD.get(name, name) for name in EVOLVING]
    return [name for name in dict.fromkeys(wanted) if name in plans]


def cells(
    items: Sequence[Compared], plans: Mapping[str, Plan], trials: set[str]
) -> list[tuple[Cell, Path]]:
    """Return what is to be run, with the file of features.

    Trials are judged by the inner folds alone: their reported figures are never computed.
    """
    followed = set(evolving(plans))
    found = []
    for item in items:
        for name, plan in plans.items():
            if item.name in trials and plan.benchmark.reported:
                continue
            if item.step is not None and name not in followed:
                continue
            found.append((Cell(item.name, item.step, name), item.features))
    return found


def run_folds(
    wanted: Sequence[tuple[Cell, Path]],
    plans: Mapping[str, Plan],
    client: Client,
    advance: Callable[[int], None] = lambda n: None,
) -> Outcomes:
    """Return the outcome of every cell; each fold of each is a job of its own."""
    from distributed import as_completed

    # Tasks, not scattered data: what a dead worker held is then made again.
    fittings = {
        name: client.submit(_itself, Fitting.of(plan), pure=False) for name, plan in plans.items()
    }
    jobs = {}
    for cell, path in wanted:
        for fold in range(len(plans[cell.benchmark].folds)):
            fitting = fittings[cell.benchmark]
            job = client.submit(predict_from_file, fitting, path, fold, pure=False)
            jobs[job] = (cell, fold)
    predictions: dict[Cell, dict[int, NDArray[np.int8]]] = defaultdict(dict)
    for job in as_completed(jobs):
        cell, fold = jobs[job]
        predictions[cell][fold] = job.result()
        job.release()
        advance(1)
    return {
        cell: outcome(plans[cell.benchmark], cell.representation, _in_order(predictions[cell]))
        for cell, _ in wanted
    }


def _itself(fitting: Fitting) -> Fitting:
    return fitting


def _in_order(found: Mapping[int, NDArray[np.int8]]) -> list[NDArray[np.int8]]:
    return [found[fold] for fold in sorted(found)]


def benchmark_records(
    settings: Settings, plans: Mapping[str, Plan], not_run: Mapping[str, str], outcomes: Outcomes
) -> tuple[evaluation.Benchmark, ...]:
    """Return every benchmark as the report shows it, also those that were not run."""
    return tuple(
        evaluation.Benchmark(
            name=name,
            title=benchmark.title,
            protocol=benchmark.protocol(settings.benchmarks),
            classes=benchmark.classes,
            reported=benchmark.reported,
            not_run=not_run.get(name),
            facts=plans[name].facts if name in plans else None,
            outcomes=tuple(
                found
                for cell, found in outcomes.items()
                if cell.benchmark == name and cell.step is None
            ),
        )
        for name, benchmark in BENCHMARKS.items()
    )
