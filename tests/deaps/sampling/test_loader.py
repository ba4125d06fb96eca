from __future__ import annotations

import threading
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deaps.config import SamplingSettings
from deaps.sampling.loader import BatchLoader
from deaps.sampling.sampler import Batch, Sampler, Views, open_sampler
from storage import WindowStore
from storage.errors import DeapsError
from storage.windows import WindowFileError
from tests.deaps.sampling.made_visits import publish_visits, two_visits


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    publish_visits(folder, two_visits(8))
    return folder


@pytest.fixture(scope="module")
def sampler(root: Path) -> Sampler:
    return open_sampler(root, Views.QUADRUPLE, SamplingSettings(), batch=6, seed=2)


def load(root: Path, sampler: Sampler, **options: Any) -> list[Batch]:
    options = {"first_step": 0, "last_step": 4} | options
    with BatchLoader(root, root / "index.duckdb", sampler, **options) as loader:
        return list(loader)


def same(one: Batch, other: Batch) -> bool:
    tensors = ("windows", "before_s", "after_s", "subjects")
    equal = all(torch.equal(getattr(one, name), getattr(other, name)) for name in tensors)
    return equal and one.seed == other.seed


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("deaps-loader")]


@pytest.mark.parametrize("normalise", ["recording", "dataset", "window"])
def test_batches_are_what_the_store_has_of_the_draw(
    root: Path, sampler: Sampler, normalise: Any
) -> None:
    store = WindowStore(root, normalise=normalise)
    for step, batch in enumerate(load(root, sampler, normalise=normalise)):
        draw = sampler.draw(step)
        windows = store.read(draw.recording_ids.ravel(), draw.rows.ravel()).reshape(6, 4, 1000)
        assert np.array_equal(batch.windows.numpy(), windows)
        assert np.array_equal(batch.before_s.numpy(), draw.before_s)
        assert np.array_equal(batch.after_s.numpy(), draw.after_s)
        assert np.array_equal(batch.subjects.numpy(), draw.subjects)
        assert batch.seed == draw.seed


@pytest.mark.parametrize("prefetch", [0, 1, 3, 9])
def test_batches_are_the_same_however_many_are_read_ahead(
    root: Path, sampler: Sampler, prefetch: int
) -> None:
    batches = load(root, sampler, prefetch=prefetch)
    assert len(batches) == 4
    assert all(map(same, batches, load(root, sampler)))


def test_a_run_that_goes_on_sees_the_steps_that_were_left(root: Path, sampler: Sampler) -> None:
    assert all(map(same, load(root, sampler, first_step=2), load(root, sampler)[2:]))
    assert load(root, sampler, first_step=4) == []


@pytest.mark.parametrize("world", [2, 3])
def test_the_parts_of_all_processes_make_the_batch(
    root: Path, sampler: Sampler, world: int
) -> None:
    parts = [load(root, sampler, rank=rank, world=world)[1] for rank in range(world)]
    together = torch.stack([part.windows for part in parts], dim=1).flatten(0, 1)
    assert torch.equal(together, load(root, sampler)[1].windows)
    assert [(part.rank, part.world) for part in parts] == [(r, world) for r in range(world)]


def test_without_a_last_step_batches_go_on(root: Path, sampler: Sampler) -> None:
    with BatchLoader(root, root / "index.duckdb", sampler) as loader:
        assert len(list(islice(loader, 20))) == 20


def test_a_batch_is_not_written_to_again(root: Path, sampler: Sampler) -> None:
    with BatchLoader(root, root / "index.duckdb", sampler) as loader:
        batches = iter(loader)
        first = next(batches)
        kept = first.windows.clone()
        list(islice(batches, 10))
        assert torch.equal(first.windows, kept)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_what_fails_in_the_thread_is_raised_where_the_batch_is_asked_for(
    tmp_path: Path, prefetch: int
) -> None:
    publish_visits(tmp_path, two_visits(3))
    sampler = open_sampler(tmp_path, Views.QUADRUPLE, SamplingSettings(), batch=3, seed=0)
    for path in tmp_path.rglob("*.parquet"):
        path.unlink()
    with pytest.raises(WindowFileError, match="is missing"):
        load(tmp_path, sampler, prefetch=prefetch)
    assert threads() == []


def test_closing_ends_the_thread_and_the_batches(root: Path, sampler: Sampler) -> None:
    loader = BatchLoader(root, root / "index.duckdb", sampler)
    batches = iter(loader)
    next(batches)
    assert len(threads()) == 1
    loader.close()
    loader.close()
    assert threads() == []
    with pytest.raises(RuntimeError, match="the loader is closed"):
        next(batches)


def test_time_spent_waiting_is_counted(root: Path, sampler: Sampler) -> None:
    with BatchLoader(root, root / "index.duckdb", sampler, prefetch=0) as loader:
        started = time.perf_counter()
        list(islice(loader, 10))
        assert 0 < loader.waited_s < time.perf_counter() - started


def test_a_loader_that_is_ahead_is_not_waited_for(root: Path, sampler: Sampler) -> None:
    with BatchLoader(root, root / "index.duckdb", sampler, last_step=4, prefetch=3) as loader:
        batches = iter(loader)
        next(batches)
        time.sleep(0.5)
        before = loader.waited_s
        list(batches)
        assert loader.waited_s - before < 0.1


def test_a_batch_that_processes_cannot_share_names_the_setting(
    root: Path, sampler: Sampler
) -> None:
    message = "a batch of 6 cannot be shared equally by 4 processes; set training.batch"
    with pytest.raises(DeapsError, match=message):
        load(root, sampler, world=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 2, "world": 2}, "rank is 2; expected 0 to 1 with 2 processes"),
        ({"prefetch": -1}, "prefetch is -1"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    root: Path, sampler: Sampler, options: dict[str, int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        load(root, sampler, **options)


def test_every_tensor_of_a_batch_goes_to_the_device(root: Path, sampler: Sampler) -> None:
    """The device ``meta`` holds no values, but has shapes and types, and is there everywhere."""
    on_cpu = load(root, sampler)
    for batch, expected in zip(load(root, sampler, device="meta"), on_cpu, strict=True):
        for name in ("windows", "before_s", "after_s", "subjects"):
            moved, tensor = getattr(batch, name), getattr(expected, name)
            assert moved.device.type == "meta", name
            assert (moved.shape, moved.dtype) == (tensor.shape, tensor.dtype), name
        assert (batch.seed, batch.rank, batch.world) == (expected.seed, 0, 1)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_batches_arrive_on_the_device(root: Path, sampler: Sampler) -> None:
    on_cpu = load(root, sampler)
    for batch, expected in zip(load(root, sampler, device="cuda"), on_cpu, strict=True):
        assert batch.windows.is_cuda
        assert torch.equal(batch.windows.cpu(), expected.windows)
