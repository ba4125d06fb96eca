"""The demo's synthetic cohort, written where its preset looks for it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.config import Settings

DEMO_DATA = Path("demo-data")


def ensure_demo_data(settings: Settings) -> bool:
    """Write the cohort unless it is there; return whether it was written."""
    if any(root.exists() for root in settings.data.roots().values()):
        return False
    from flows.runtime.dask_pool import local_workers
    from flows.runtime.progress import StageProgress
    from preprocessing.synth import write_cohort

    # Under another name first: a kill leaves no half of a cohort.
    unfinished = DEMO_DATA.with_name(f"{DEMO_DATA.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    workers = local_workers(settings.execution)
    with StageProgress("synthetic records", 0, key="synth") as bar:
        write_cohort(unfinished, settings.synth, workers=workers, progress=bar.move)
    unfinished.rename(DEMO_DATA)
    return True
