"""A small store to train on: subjects with two visits, forty windows each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deaps.config import ModelSettings, SamplingSettings, TrainingSettings
from deaps.training.run_folder import Run, TrainingPlan, create_run
from tests.storage.made_store import make_row, publish_rows, write_recording

WINDOWS = 40


def make_training_store(root: Path, subjects: int = 5, *, synthetic: bool = False) -> Path:
    rows = []
    for subject in range(subjects):
        for visit in (1, 2):
            row = make_row(f"s{subject}-v{visit}", subject=f"s{subject}", visit=visit)
            quality = np.zeros(WINDOWS, np.int8)
            rows.append(
                write_recording(root, row, WINDOWS, seed=10 * subject + visit, quality=quality)
            )
    publish_rows(root, rows, synthetic=synthetic)
    return root


def make_run(store: Path, method: str = "byol", **training: Any) -> Run:
    """Return a run of a few cheap steps."""
    values = {
        "batch": 4, "iterations": 6, "tfc_iterations": 6, "checkpoint_every": 2,
        "evolution_every": 3, "metrics_every": 1, "seed": 3, "precision": "float32",
    }  # fmt: skip
    plan = TrainingPlan(
        method=method,
        model=ModelSettings(),
        sampling=SamplingSettings(),
        training=TrainingSettings(**values | training),
        normalise="recording",
    )
    return create_run(store, plan)
