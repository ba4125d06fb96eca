"""The embedding stage: features of every window that the benchmarks use, with every encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deaps.evaluation.examples import Windows
from deaps.evaluation.representations import FeatureFile, run_of
from deaps.training.device import choose_device
from flows.config import Settings
from flows.experiment.inputs import dataset_labels, read_inputs
from flows.experiment.jobs import WindowSource, fill_files
from flows.experiment.state import load_state
from flows.monitoring.event_log import EventLog
from flows.runtime.dask_pool import worker_pool
from flows.runtime.progress import StageProgress
from flows.runtime.run_context import RunContext
from storage.snapshot import open_index
from storage.window_store import raise_open_file_limit

if TYPE_CHECKING:
    from distributed import Client


def embed_features(context: RunContext, run: str | None = None) -> int:
    """Compute the features that the evaluation of finished runs lacks; return how many files.

    With ``run`` those of that run alone; without, those of every run and baseline.
    """
    missing, windows = missing_files(context.settings)
    if run is not None:
        missing = [f for f in missing if f.source.kind == "encoder" and run_of(f) == run]
    if missing:
        settings = context.settings
        raise_open_file_limit()  # the workers, which read windows of all recordings, inherit it
        with (
            worker_pool(settings.execution, context.workers) as client,
            EventLog(settings.store.root).stage("embed"),
        ):
            fill_features(settings, load_state(settings).snapshot_id, missing, windows, client)
    return len(missing)


def missing_files(settings: Settings) -> tuple[list[FeatureFile], Windows]:
    """Return the files of features that an evaluation lacks, and the windows they are of."""
    state = load_state(settings)
    with open_index(settings.store.root) as index:
        inputs = read_inputs(state, index, dataset_labels())
    return inputs.missing_files(), inputs.windows


def missing_by_run(settings: Settings) -> dict[str, list[FeatureFile]]:
    """Return the files of features that are lacking, by the run whose encoders they need."""
    by_run: dict[str, list[FeatureFile]] = {}
    for file in missing_files(settings)[0]:
        if file.source.kind == "encoder":  # a baseline belongs to no run
            by_run.setdefault(run_of(file), []).append(file)
    return by_run


def fill_features(
    settings: Settings,
    snapshot_id: str,
    files: list[FeatureFile],
    windows: Windows,
    client: Client,
) -> None:
    """Compute files of features: on an accelerator in this process, else by the workers."""
    total = len(files) * len(windows)
    with StageProgress("embedding windows", total, key="embedding-progress") as progress:
        fill_files(
            WindowSource(settings.store.root, snapshot_id),
            files,
            windows,
            client=client,
            device=choose_device(settings.execution.device),
            advance=progress.advance,
        )
