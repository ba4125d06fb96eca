"""Workers: started again if they die in their start, and shared by stages that follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import distributed
import pytest

from flows.config import ExecutionSettings
from flows.runtime import dask_pool
from flows.runtime.dask_pool import SharedWorkers, worker_pool
from storage.errors import DeapsError


def failing(times: int) -> tuple[Any, SimpleNamespace]:
    """Return a cluster's class that fails some times, and how often it was called."""
    calls = SimpleNamespace(n=0)

    def start(**options: Any) -> str:
        calls.n += 1
        if calls.n <= times:
            raise RuntimeError("Nanny failed to start.")
        return f"cluster of {options['n_workers']}"

    return start, calls


def test_a_worker_that_dies_in_its_start_is_started_again(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    start, calls = failing(2)
    monkeypatch.setattr(distributed, "LocalCluster", start)
    assert dask_pool._start_cluster(4) == "cluster of 4"
    assert calls.n == 3
    assert "starting the workers again" in capfd.readouterr().err


def test_workers_that_always_die_are_given_up_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    start, calls = failing(100)
    monkeypatch.setattr(distributed, "LocalCluster", start)
    with pytest.raises(DeapsError, match=r"3 times.*execution\.workers \(now 4\)"):
        dask_pool._start_cluster(4)
    assert calls.n == 3


def test_a_large_task_is_sent_without_a_warning() -> None:
    """Warnings are errors here; the folds of a whole MIT-AFIB take 16 MB."""
    with worker_pool(ExecutionSettings(workers=1)) as client:
        assert client.submit(len, bytes(12_000_000)).result() == 12_000_000


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace pools by ones that note their start and end."""
    noted: list[str] = []

    @contextmanager
    def pool(execution: ExecutionSettings) -> Iterator[str]:
        noted.append("start")
        yield f"client {noted.count('start')}"
        noted.append("end")

    monkeypatch.setattr(dask_pool, "_new_pool", pool)
    return noted


def test_stages_share_workers_until_the_last_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = _counting(monkeypatch)
    with SharedWorkers() as workers:
        assert noted == []  # stages with nothing to do need none
        with worker_pool(ExecutionSettings(), workers) as first:
            pass
        with worker_pool(ExecutionSettings(), workers) as second:
            pass
        assert first is second
        assert noted == ["start"]
    assert noted == ["start", "end"]


def test_without_sharing_each_stage_has_its_own_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = _counting(monkeypatch)
    for _ in range(2):
        with worker_pool(ExecutionSettings()):
            pass
    assert noted == ["start", "end"] * 2
