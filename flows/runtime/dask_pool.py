"""Workers: a local Dask cluster by default, jobs of SLURM, or a scheduler somewhere else."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

from flows.runtime.console import notify
from flows.runtime.slurm import slurm_workers
from storage.errors import DeapsError
from storage.locks import lock_problem
from storage.packages import has_package

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

    from flows.config import ExecutionSettings


_PATIENCE_S = "20s"
_STARTS = 3

WORKER_SETTINGS = {
    # Workers read through memory maps, whose pages Dask would count as theirs.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # Dask's default returns each array to the system when it is freed; on a night's arrays
        # the page faults that follow took as long as half of the work.
        "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20),
        "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
        # Arrow's own allocator kept 90 MB after writing 6.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
    },
    # A recording that kills its worker this often is set aside instead of tried for ever.
    "distributed.scheduler.allowed-failures": 2,
}


def local_workers(execution: ExecutionSettings) -> int:
    """Return how many worker processes this machine gets."""
    if execution.workers is not None:
        return execution.workers
    # Affinity, where the system has it, knows of containers and batch jobs.
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def _environment_kept() -> Iterator[None]:
    """Undo what Dask leaves in this process's environment for its workers.

    With one thread asked for there, a training later in the same process would be slow.
    """
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


class SharedWorkers:
    """One pool of workers for several stages, started by the first that needs it.

    Starting workers takes seconds. They end with the block ``with SharedWorkers() as workers``.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._client: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def client(self, execution: ExecutionSettings) -> Client:
        """Return the pool's client."""
        if self._client is None:
            self._client = self._stack.enter_context(_new_pool(execution))
        return self._client


@contextmanager
def worker_pool(
    execution: ExecutionSettings, shared: SharedWorkers | None = None
) -> Iterator[Client]:
    """Yield a Dask client, of ``shared`` workers or of some that end with the block."""
    if shared is not None:
        yield shared.client(execution)
        return
    with _new_pool(execution) as client:
        yield client


@contextmanager
def _new_pool(execution: ExecutionSettings) -> Iterator[Client]:
    # Imported here: a run with nothing to do starts no workers, and Dask takes 0.5 s.
    import dask
    from distributed import Client

    # A large benchmark's folds are one task, sent once: Dask would warn of its 16 MB.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})
    logging.getLogger("distributed").setLevel(logging.ERROR)
    # Its tracebacks are about workers that died, which is reported and handled here.
    logging.getLogger("distributed.nanny").setLevel(logging.CRITICAL)
    if execution.cluster == "slurm" and execution.dask_address is None:
        with slurm_workers(execution, WORKER_SETTINGS) as client:
            _print_address(client)
            yield client
        return
    if execution.dask_address is not None:
        notify(f"asking the Dask scheduler at {execution.dask_address} ...")
        with _connected(execution.dask_address) as client:
            _print_address(client)
            yield client
        return
    n_workers = local_workers(execution)
    notify(f"starting {n_workers} worker{'' if n_workers == 1 else 's'} ...")
    with dask.config.set(WORKER_SETTINGS), _environment_kept():
        cluster = _start_cluster(n_workers)
        with cluster, Client(cluster) as client:
            _print_address(client)
            yield client


def _start_cluster(n_workers: int) -> LocalCluster:
    """Start workers here; if one dies while it starts, which ends them all, start again."""
    from distributed import LocalCluster

    for _ in range(_STARTS):
        try:
            return LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                # A worker that fails says why to us, and we print it once, without a traceback.
                silence_logs=logging.CRITICAL,
            )
        except RuntimeError:
            notify("a worker ended while it started; starting the workers again")
    raise DeapsError(
        f"workers ended while they started, {_STARTS} times; look for a lack of memory, or lower "
        f"execution.workers (now {n_workers})"
    )


def _connected(address: str) -> Client:
    """Return a client of the scheduler at an address, or say that none is there."""
    from distributed import Client

    try:
        return Client(address, timeout=_PATIENCE_S)
    except OSError:
        raise DeapsError(
            f"no Dask scheduler at {address} (execution.dask_address); start it with "
            "`dask scheduler`, or leave the key out to use this machine's cores"
        ) from None


def _print_address(client: Client) -> None:
    if not has_package("bokeh"):
        return  # Dask then has no pages; the extra `dashboard` brings them
    notify(f"Dask's pages: {client.dashboard_link}")


_said: set[Path] = set()
"""Stores that this process has warned of."""


def warn_of_locks(store: Path) -> None:
    """Say once if the locks of a store's file system do not reach other machines."""
    if store in _said:
        return
    _said.add(store)
    if problem := lock_problem(store):
        notify(f"warning: {problem}")
