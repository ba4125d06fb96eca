"""A run's folder: what is written comes back, also from files of earlier versions."""

from __future__ import annotations

import tomllib
from pathlib import Path

from deaps.training.run_folder import open_run, to_toml
from tests.deaps.training.training_store import make_run, make_training_store


def test_a_plan_survives_its_file(tmp_path: Path) -> None:
    run = make_run(make_training_store(tmp_path / "store", subjects=2), learning_rate=1e-5)
    assert open_run(run.folder) == run
    assert run.name == f"byol-{run.config_digest[:10]}"


def test_the_hand_written_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    run = make_run(make_training_store(tmp_path / "store", subjects=2), precision="auto")
    (run.folder / "config.toml").write_text(
        f'snapshot = "{run.snapshot_id}"\nstarted_at = "{run.started_at}"\nmethod = "byol"\n'
        'normalise = "recording"\n\n[model]\n\n[model.encoder]\nnorm = "embedding"\nchunk = 0\n\n'
        '[sampling]\ndatasets = []\nqualities = ["Excellent", "Barely acceptable"]\n\n'
        "[training]\nbatch = 4\niterations = 6\ntfc_iterations = 6\ncheckpoint_every = 2\n"
        "evolution_every = 3\nmetrics_every = 1\nseed = 3\nweight_decay = 1.5e-06\n"
    )
    assert open_run(run.folder) == run


def test_toml_has_any_name_and_no_none() -> None:
    values = {"a": None, "trials": {"BYOL, warm-up": {"x": ["ä", 1.5], "none": None}}}
    assert tomllib.loads(to_toml(values)) == {"trials": {"BYOL, warm-up": {"x": ["ä", 1.5]}}}
