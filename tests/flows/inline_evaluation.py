"""Training and evaluation in one process, without Prefect: the same calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from deaps.evaluation.answers import AnswersByKey
from deaps.evaluation.document import DatasetLabels, Evaluation
from deaps.train import train_run
from deaps.training.run_folder import create_run
from flows.config import Settings
from flows.evaluate import figures
from flows.experiment.inputs import read_inputs
from flows.experiment.jobs import WindowSource, fill_files, run_folds
from flows.experiment.state import load_state
from storage.snapshot import open_index

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


def evaluate_inline(settings: Settings, client: Client) -> tuple[Evaluation, AnswersByKey]:
    """Return the evaluation of what is trained, and the answers also at earlier steps."""
    state, store = load_state(settings), settings.store.root
    with open_index(store) as index:
        inputs = read_inputs(state, index, LABELS)
        source = WindowSource(store, state.snapshot_id)
        fill_files(
            source,
            inputs.missing_files(),
            inputs.windows,
            client=client,
            device=torch.device("cpu"),
        )
        answers = run_folds(inputs.requests, inputs.plans, client)
        return figures(inputs, index, answers), answers
