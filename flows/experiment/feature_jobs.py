"""Features of all windows that the benchmarks use, computed by the workers block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from deaps.evaluation.examples import Windows
from deaps.evaluation.features import FeatureSource, write_features
from deaps.evaluation.representations import FeatureFile
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from distributed import Client

_ENCODED = 1024
"""Windows of a block that an encoder takes: some seconds of a core."""

_MEASURED = 128
"""Windows of a block whose classical features are taken."""


class SnapshotChangedError(DeapsError):
    """The windows of an evaluation are no longer those that are published."""


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
        raise SnapshotChangedError(
            "another snapshot was published during the evaluation; run it again"
        )
    return store
