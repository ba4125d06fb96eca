"""Workers that die while they start are started again, and not for ever."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import distributed
import pytest

from flows.runtime import dask_pool
from flows.runtime.dask_pool import WorkersError


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
    with pytest.raises(WorkersError, match=r"3 times.*execution\.workers \(now 4\)"):
        dask_pool._start_cluster(4)
    assert calls.n == 3
