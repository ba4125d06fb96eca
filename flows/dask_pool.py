"""Workers: a local Dask cluster by default, or a scheduler somewhere else."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

    from flows.config import ExecutionSettings

_QUIET = {
    # Workers read through memory maps, whose pages Dask would count as theirs.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # A recording that kills its worker this often is set aside instead of tried for ever.
    "distributed.scheduler.allowed-failures": 2,
}


def local_workers(execution: ExecutionSettings) -> int:
    """Return how many worker processes this machine gets."""
    if execution.workers is not None:
        return execution.workers
    # Affinity, where the system tells it, knows of containers and batch jobs.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def worker_pool(execution: ExecutionSettings) -> Iterator[Client]:
    """Yield a Dask client; a local cluster is started and stopped with it."""
    # Imported here: a run with nothing to do starts no workers, and Dask takes 0.5 s.
    import dask
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.ERROR)
    if execution.dask_address is not None:
        with Client(execution.dask_address) as client:
            yield client
        return
    with dask.config.set(_QUIET):
        cluster = LocalCluster(
            n_workers=local_workers(execution),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=logging.ERROR,
        )
        with cluster, Client(cluster) as client:
            yield client
