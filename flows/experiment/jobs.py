"""What the workers compute for an evaluation: features by blocks of windows, and folds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from deaps.evaluation.answers import (
    AnswerKey,
    AnswerRequest,
    AnswersByKey,
    FoldJob,
    answer_from_files,
    answer_paths,
    fold_jobs,
    read_answers,
    write_answers,
)
from deaps.evaluation.examples import Windows
from deaps.evaluation.features import FeatureSource, write_features
from deaps.evaluation.plan import Plan
from deaps.evaluation.probes import Answers
from deaps.evaluation.representations import FeatureFile
from flows.config import Settings
from flows.monitoring.event_log import EventLog
from flows.runtime.console import notify
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.files import find_store, store_id
from storage.packages import code_version
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from distributed import Client


_ENCODED = 1024
"""Windows of a block that an encoder takes: some seconds of a core."""

_MEASURED = 128
"""Windows of a block whose classical features are taken."""


class FeatureBlock(NamedTuple):
    """Some windows of one representation: the number of its file, and which windows."""

    file: int
    part: slice


@dataclass(frozen=True, slots=True)
class WindowSource:
    """A snapshot's windows, for any process that sees the store."""

    root: Path
    snapshot_id: str
    """What the features are of: a snapshot published meanwhile has other windows."""

    def read(self, windows: Windows, normalise: Normalisation) -> NDArray[np.float32]:
        """Return windows as the training of an encoder saw them, (n, 1000)."""
        return _store(self, normalise).read(windows.recording_id, windows.row)


def fill_files(
    source: WindowSource,
    files: Sequence[FeatureFile],
    windows: Windows,
    *,
    client: Client,
    device: torch.device,
    advance: Callable[[int], None] = lambda n: None,
) -> None:
    """Compute files of features; each is written when it is complete.

    Workers do it, each with one core; where there is an accelerator, this process encodes.
    """
    parts_by_file: dict[int, dict[int, NDArray[np.float32]]] = {i: {} for i in range(len(files))}
    for block, features in _blocks(source, files, windows, client, device):
        parts = parts_by_file[block.file]
        parts[block.part.start] = features
        advance(len(features))
        if sum(map(len, parts.values())) == len(windows):
            whole = np.concatenate([parts[start] for start in sorted(parts)])
            write_features(files[block.file].path, windows, whole)
            del parts_by_file[block.file]


def _blocks(
    source: WindowSource,
    files: Sequence[FeatureFile],
    windows: Windows,
    client: Client,
    device: torch.device,
) -> Iterator[tuple[FeatureBlock, NDArray[np.float32]]]:
    """Yield the features of every block, in the order in which they are ready."""
    from distributed import as_completed

    jobs = {}
    for number, file in enumerate(files):
        here = device.type != "cpu" and file.source.is_network
        for part in _parts(file, windows):
            some = windows.at(part)
            if here:
                yield FeatureBlock(number, part), block_features(source, file.source, some, device)
            else:
                job = client.submit(block_features, source, file.source, some, pure=False)
                jobs[job] = FeatureBlock(number, part)
    for job in as_completed(jobs):
        yield jobs[job], job.result()
        job.release()


def block_features(
    source: WindowSource,
    of: FeatureSource,
    windows: Windows,
    device: torch.device | str = "cpu",
) -> NDArray[np.float32]:
    """Return the features of some windows; what a worker does."""
    return of.features(source.read(windows, of.normalise), device=device)


def _parts(file: FeatureFile, windows: Windows) -> Iterator[slice]:
    size = _MEASURED if file.source.kind == "classical" else _ENCODED
    for start in range(0, len(windows), size):
        yield slice(start, start + size)


@lru_cache(maxsize=2)
def _store(source: WindowSource, normalise: Normalisation) -> WindowStore:
    store = WindowStore(source.root, normalise=normalise)
    if store.snapshot_id != source.snapshot_id:
        raise DeapsError("another snapshot was published during the evaluation; run it again")
    return store


def run_folds(
    requests: Sequence[AnswerRequest],
    plans: Mapping[str, Plan],
    client: Client,
    advance: Callable[[int], None] = lambda n: None,
) -> AnswersByKey:
    """Return every requested answer, from its file or computed from its features.

    Answers are written as soon as all folds of a request are done.
    """
    jobs = fold_jobs(plans)
    paths = answer_paths(requests, jobs)
    answers: AnswersByKey = {}
    missing = []
    for request in requests:
        known = read_answers(paths[request.key])
        if known is None:
            missing.append(request)
        else:
            answers[request.key] = known
            advance(len(known))
    for key, computed in _compute(missing, plans, jobs, client, advance):
        write_answers(paths[key], computed)
        # As the file has them, so that a figure is the same whether its answers are new or not.
        answers[key] = read_answers(paths[key]) or computed
    return {request.key: answers[request.key] for request in requests}


def _compute(
    requests: Sequence[AnswerRequest],
    plans: Mapping[str, Plan],
    jobs: Mapping[tuple[str, bool], FoldJob],
    client: Client,
    advance: Callable[[int], None],
) -> Iterator[tuple[AnswerKey, list[Answers]]]:
    """Yield the answers to each request when the workers have answered all its folds."""
    from distributed import as_completed

    # Tasks, not scattered data: sent once, and what a dead worker held is then made again.
    sent = {name: client.submit(_itself, job, pure=False) for name, job in jobs.items()}
    futures = {}
    for request in requests:
        key, files = request.key, request.files
        for fold in range(request.n_fits(plans)):
            job = sent[key.benchmark, key.few_labels]
            future = client.submit(answer_from_files, job, files, fold, key.probe, pure=False)
            futures[future] = (request, fold)
    by_request: dict[AnswerKey, dict[int, Answers]] = defaultdict(dict)
    for future in as_completed(futures):
        request, fold = futures[future]
        by_fold = by_request[request.key]
        by_fold[fold] = future.result()
        future.release()
        advance(1)
        if len(by_fold) == request.n_fits(plans):
            yield request.key, [by_fold[fold] for fold in sorted(by_fold)]


def _itself(job: FoldJob) -> FoldJob:
    return job


class RunAddress(BaseModel):
    """A run by name, its store by path and id, and the code that asks for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    store: str
    store_id: str
    code: str


def address_of(store: Path, run: str) -> RunAddress:
    """Return the address of a run in the store of this machine."""
    root = store.resolve()
    return RunAddress(name=run, store=str(root), store_id=store_id(root), code=code_version())


def settings_at(settings: Settings, address: RunAddress) -> Settings:
    """Return the settings with the store that the address means, as this machine sees it.

    Warns, on the screen and in the store's log, where this machine has other code.

    Raises
    ------
    DeapsError
        If this machine does not see that store: before any step.
    """
    root = find_store(address.store_id, settings.store.root.resolve(), Path(address.store))
    if (code := code_version()) != address.code:
        notify(f"warning: {address.name} was planned by deaps {address.code}, and this is {code}")
        EventLog(root).write(
            "other code",
            level="warning",
            stage="train",
            training=address.name,
            reason=f"planned by deaps {address.code}, done by {code}",
        )
    store = settings.store.model_copy(update={"root": root})
    return settings.model_copy(update={"store": store})
