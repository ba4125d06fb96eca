"""Batches as tensors on the device, drawn and read ahead of the training step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from deaps.sampling.sampler import Batch, Draw, Sampler
from storage.errors import DeapsError
from storage.schema import WINDOW_SAMPLES
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from storage.config import Normalisation


class BatchLoader:
    """The batches of steps ``first_step`` to ``last_step - 1``, one process's part of each.

    A thread draws and reads ``prefetch`` batches ahead; an error there is raised where the
    batch is asked for. The batches are the same for every ``prefetch``.

    Parameters
    ----------
    store_root, index_file
        The store, and the index that the sampler's pool was loaded from.
    sampler
        Draws the global batch of a step.
    first_step, last_step
        Steps to iterate over, the last one excluded; without end by default.
    rank, world
        Which of how many processes this is.
    device
        Where the batches go; on CUDA through pinned memory, without waiting for the copy.
    prefetch
        Batches that are ready or under way while one is used; 0 reads when asked.
    normalise
        As `WindowStore` takes it.

    Attributes
    ----------
    waited_s
        Seconds for which batches were waited for so far.
    """

    def __init__(
        self,
        store_root: Path | str,
        index_file: Path | str,
        sampler: Sampler,
        *,
        first_step: int = 0,
        last_step: int | None = None,
        rank: int = 0,
        world: int = 1,
        device: torch.device | str = "cpu",
        prefetch: int = 2,
        normalise: Normalisation = "recording",
    ) -> None:
        _check(sampler.batch, rank, world, prefetch)
        self._store = WindowStore(store_root, normalise=normalise, index=index_file)
        self._sampler = sampler
        self._first, self._last = first_step, last_step
        self._rank, self._world = rank, world
        self._device, self._prefetch = torch.device(device), prefetch
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="deaps-loader")
        self._closed = False
        self.waited_s = 0.0

    def __iter__(self) -> Iterator[Batch]:
        ahead: deque[Future[Batch]] = deque()
        step = self._first
        try:
            while True:
                while len(ahead) <= self._prefetch and (self._last is None or step < self._last):
                    ahead.append(self._submit(step))
                    step += 1
                if not ahead:
                    return
                yield self._take(ahead.popleft())
        finally:
            for future in ahead:
                future.cancel()

    def __enter__(self) -> BatchLoader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the thread, after the batch that it is reading; no batch is given afterwards."""
        self._closed = True
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _submit(self, step: int) -> Future[Batch]:
        if self._closed:
            raise RuntimeError("the loader is closed")
        return self._thread.submit(self._read, step)

    def _take(self, future: Future[Batch]) -> Batch:
        started = time.perf_counter()
        batch = future.result()
        self.waited_s += time.perf_counter() - started
        # Here and not in the thread, so that the copy is in the stream that uses it.
        return batch if self._device.type == "cpu" else _to_device(batch, self._device)

    def _read(self, step: int) -> Batch:
        draw = self._sampler.draw(step).part(self._rank, self._world)
        return Batch(
            windows=self._windows(draw),
            before_s=self._tensor(draw.before_s),
            after_s=self._tensor(draw.after_s),
            subjects=self._tensor(draw.subjects),
            seed=draw.seed,
            rank=self._rank,
            world=self._world,
        )

    def _windows(self, draw: Draw) -> Tensor:
        windows = torch.empty((*draw.rows.shape, WINDOW_SAMPLES), pin_memory=self._pinned)
        flat = windows.view(-1, WINDOW_SAMPLES).numpy()
        self._store.read(draw.recording_ids.reshape(-1), draw.rows.reshape(-1), out=flat)
        return windows

    def _tensor(self, values: NDArray[np.float32] | NDArray[np.int64]) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(values))
        return tensor.pin_memory() if self._pinned else tensor

    @property
    def _pinned(self) -> bool:
        return self._device.type == "cuda"


def _to_device(batch: Batch, device: torch.device) -> Batch:
    # torch keeps pinned memory from being used again until the copy is done.
    return replace(
        batch,
        windows=batch.windows.to(device, non_blocking=True),
        before_s=batch.before_s.to(device, non_blocking=True),
        after_s=batch.after_s.to(device, non_blocking=True),
        subjects=batch.subjects.to(device, non_blocking=True),
    )


def _check(batch: int, rank: int, world: int, prefetch: int) -> None:
    if not 0 <= rank < world:
        raise ValueError(f"rank is {rank}; expected 0 to {world - 1} with {world} processes")
    if batch % world:
        raise DeapsError(
            f"a batch of {batch} cannot be shared equally by {world} processes; set "
            f"training.batch to a multiple of {world}"
        )
    if prefetch < 0:
        raise ValueError(f"prefetch is {prefetch}; expected 0 or more")
