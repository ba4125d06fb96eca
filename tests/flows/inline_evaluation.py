"""Training and evaluation in one process, without Prefect: the same calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING

import torch

from deaps.evaluation import DatasetLabels, Evaluation
from deaps.exhibits.collection import ExhibitMaker
from deaps.probing.comparison import Outcomes, benchmark_records, list_outcomes, plan_benchmarks
from deaps.probing.plan import windows_of
from deaps.probing.representations import missing_features, representation_records
from deaps.train import train_run
from deaps.training.run_folder import create_run
from flows.config import Settings
from flows.evaluate import list_features
from flows.experiment.feature_jobs import WindowSource, fill_missing
from flows.experiment.fold_jobs import run_folds
from flows.experiment.provenance import provenance
from flows.experiment.state import load_state
from storage.snapshot import open_index
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from distributed import Client


LABELS = DatasetLabels(
    mitdb="MIT-ARR", afdb="MIT-AFIB", challenge2017="Challenge 2017", shhs="SHHS"
)


@contextmanager
def one_worker() -> Iterator[Client]:
    """Yield a Dask client whose one worker is a thread of this process."""
    from distributed import Client

    with Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        yield client


def train_some(settings: Settings, *names: str) -> None:
    """Train what the experiment knows by these names."""
    for trained in load_state(settings).experiment.trained:
        if trained.name in names:
            train_run(create_run(settings.store.root, trained.plan).folder, device="cpu")


def evaluate_inline(
    settings: Settings, client: Client, trials: set[str] | None = None
) -> tuple[Evaluation, Outcomes]:
    """Return the evaluation of what is trained, and the outcomes also at earlier steps."""
    state, store = load_state(settings), settings.store.root
    with open_index(store) as index:
        plans, not_run = plan_benchmarks(index, settings.benchmarks, settings.data.roots(), LABELS)
        windows = windows_of(plans.values())
        files = list_features(state, windows)
        source = WindowSource(store, state.snapshot_id)
        fill_missing(source, files, windows, client=client, device=torch.device("cpu"))
        outcomes = run_folds(list_outcomes(files, plans, trials or set()), plans, client)
        methods = settings.experiment.methods
        maker = ExhibitMaker(
            index, WindowStore(store), plans, files, methods=methods, labels=LABELS, seed=0
        )
        exhibits = maker.make(state.runs, outcomes)
        evaluation = Evaluation(
            id=state.name,
            title="made",
            representations=representation_records(state.finished, files),
            benchmarks=benchmark_records(settings.benchmarks, plans, not_run, outcomes, LABELS),
            provenance=provenance(settings, index, files, LABELS, (), "test"),
            **{f.name: getattr(exhibits, f.name) for f in fields(exhibits)},
        )
    assert not missing_features(files)
    return evaluation, outcomes
