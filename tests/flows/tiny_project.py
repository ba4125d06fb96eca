"""A project folder with a tiny cohort, in which the whole pipeline takes a minute."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import duckdb

from preprocessing.config import SynthSettings
from preprocessing.synth import write_cohort

ROOT = Path(__file__).parents[2]

CONFIG = """
[data]
shhs = "data/shhs"
mitdb = "data/mitdb"
challenge2017 = "data/challenge2017"

[sampling]
datasets = ["shhs"]

[training]
batch = 4
precision = "float32"  # kills and machines are compared bit for bit
iterations = 2
checkpoint_every = 2
evolution_every = 2
metrics_every = 1

[experiment]
methods = ["byol"]
ablations = []
evolution = false
classical = false

[benchmarks]
afib_loo = "mitdb"
gender_subjects = "all"
few_recordings = 2
few_draws = 2
bootstrap = 20

[execution]
workers = 1
"""


COHORT = SynthSettings(
    shhs_subjects=6,
    shhs_hours=0.1,
    mitdb_records=4,
    mitdb_minutes=6,
    afdb_records=0,
    challenge2017_records=60,
    afpdb_subjects=0,
    ecgiddb_people=0,
)


def make_project(folder: Path) -> Path:
    """Write data and deaps.toml into ``folder``, with Prefect's settings of the project."""
    folder.mkdir(parents=True, exist_ok=True)
    write_cohort(folder / "data", COHORT, workers=1)
    (folder / "deaps.toml").write_text(CONFIG)
    shutil.copy(ROOT / "prefect.toml", folder)
    shutil.copy(ROOT / "prefect.yaml", folder)
    return folder


def ask(store: Path, question: str) -> list[Any]:
    """Return what the index of a store answers to a question in SQL."""
    with duckdb.connect(store / "index.duckdb", read_only=True) as index:
        return index.execute(question).fetchall()


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a user's shell: no setting of Prefect or of the tests in it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT", "DEAPS"))}
    return kept | changes
