"""The demo's synthetic cohort, written where its preset looks for it."""

from __future__ import annotations

import shutil
from pathlib import Path

from flows.config import Settings
from flows.runtime.dask_pool import local_workers

DEMO_DATA = Path("demo-data")


def ensure_demo_data(settings: Settings) -> bool:
    """Write the cohort unless it is there; return whether it was written."""
    if any(root.exists() for root in settings.data.roots().values()):
        return False
    from preprocessing.synth import write_cohort

    # Under another name first: a kill leaves no half of a cohort.
    unfinished = DEMO_DATA.with_name(f"{DEMO_DATA.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    write_cohort(unfinished, settings.synth, workers=local_workers(settings.execution))
    unfinished.rename(DEMO_DATA)
    return True
