"""The share of wall time that is not work: 200 nights of 2 h through the flow."""

from __future__ import annotations

import os
import time
from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth import write_cohort
from tests.bench.figure import Figure

NIGHTS, HOURS = 200, 2.0
OTHERS = ("mitdb_records", "afdb_records", "challenge2017_records", "afpdb_subjects",
          "ecgiddb_people")  # fmt: skip


def measure(folder: Path) -> list[Figure]:
    """Return the share of the workers' time, from scan to published index, not spent working.

    The embedded API and the workers are started, and their modules imported, before the clock
    starts.
    """
    os.environ["PREFECT_HOME"] = str(folder / "prefect")
    write_nights(folder)
    from prefect import flow

    from flows.config import load_settings
    from flows.ingest.refresh import refresh_store
    from flows.runtime.dask_pool import local_workers, worker_pool

    overrides = [f"data.shhs={folder}/shhs", f"store.root={folder}/store"]
    settings = load_settings(overrides=overrides)

    @flow(name="bench-orchestration")
    def timed() -> tuple[float, float]:
        with worker_pool(settings.execution) as client:
            client.run(import_work)
            started = time.perf_counter()
            outcome = refresh_store(settings, client=client)
            return time.perf_counter() - started, outcome.busy_s

    wall_s, busy_s = timed()
    workers = local_workers(settings.execution)
    seen = {"wall_s": wall_s, "busy_s": busy_s, "workers": workers}
    share = 100 * (1 - busy_s / (workers * wall_s))
    name = "share of wall time that is orchestration, 200 nights of 2 h"
    return [Figure(name, share, "%", 10, 3, higher=False, seen=seen)]


def write_nights(folder: Path) -> None:
    """Write 200 nights: some subjects have one visit, so there are more than half as many."""
    nothing = dict.fromkeys(OTHERS, 0)
    settings = SynthSettings(shhs_subjects=120, shhs_hours=HOURS, **nothing)
    write_cohort(folder, settings, workers=2)
    nights = sorted((folder / "shhs").rglob("*.edf"))
    for night in nights[NIGHTS:]:
        night.unlink()


def import_work() -> None:
    """Import in a worker what its first recording would."""
    import edfio  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import scipy.signal  # noqa: F401

    import flows.ingest.recording  # noqa: F401
