"""A short training with torchrun, one thread for each process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from deaps.training.metrics import read_metrics
from tests.deaps.training.training_store import make_run, make_training_store

STEPS = 12
WARM = 3


def seconds_a_step(folder: Path, *, processes: int) -> dict[str, float]:
    """Return the median step's seconds and share of waiting, batch 64."""
    store = folder / f"store-{processes}"
    make_training_store(store, subjects=64)
    run = make_run(
        store, "deaps", batch=64, iterations=STEPS, checkpoint_every=STEPS, evolution_every=STEPS
    )
    subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone",
         f"--nproc-per-node={processes}", "-m", "deaps.train", str(run.folder), "--device=cpu"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
    )  # fmt: skip
    rows = read_metrics(run.folder)[WARM:]
    return {name: median(row[name] for row in rows) for name in ("step_s", "waiting_share")}
