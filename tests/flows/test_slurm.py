"""Preprocessing and training through a real SLURM cluster of this one machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from flows.runtime.slurm import job_name
from tests.docs.shown_blocks import commands, shown_block
from tests.edf_files import beats, write_edf
from tests.flows.prefect_processes import BIN, running, wait_for
from tests.flows.slurm_cluster import MISSING, slurm_cluster
from tests.flows.tiny_project import CONFIG as TINY
from tests.flows.tiny_project import ask, environment, make_project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(MISSING), reason=f"no SLURM here: {', '.join(MISSING)} not found"),
]

CONFIG = """
[data]
shhs = "shhs"

[sampling]
pairing = "recording"

[training]
batch = 4
iterations = 200
precision = "float32"
checkpoint_every = 10
evolution_every = 200
metrics_every = 5

"""
JOBS = """
[execution.slurm]
jobs = 2
memory = "500MB"
training_memory = "1G"
interface = "lo"
"""
BY_SLURM = "--set=execution.cluster=slurm"
ONE_THREAD = environment(OMP_NUM_THREADS="1")
"""As trainings have it that are jobs: sums depend on it."""


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with slurm_cluster(tmp_path_factory.mktemp("slurm") / "cluster") as variables:
        names = {"SLURM_CONF": variables["SLURM_CONF"]}
        yield environment(**names)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with recordings, and a store that was made and trained without SLURM."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "deaps.toml").write_text(CONFIG + JOBS)
    for k in range(24):  # so that work is left when a job is killed after the first file
        path = folder / f"shhs/polysomnography/edfs/shhs1/shhs1-{200001 + k}.edf"
        write_edf(path, {"ECG": beats(1800, seed=k)})
    run(folder, environment(), "preprocess", "--set=store.root=local")
    run(folder, ONE_THREAD, "train", "--method=byol", "--set=store.root=local")
    return folder


def run(folder: Path, env: dict[str, str], *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [str(BIN / "deaps"), *arguments],
        cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr


def jobs(env: dict[str, str], name: str, state: str = "RUNNING") -> list[str]:
    asked = subprocess.run(
        ["squeue", "--noheader", f"--name={name}", f"--states={state}", "--format=%i"],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return asked.stdout.split()


def kill(env: dict[str, str], job: str) -> None:
    subprocess.run(["scancel", "--signal=KILL", "--full", job], env=env, check=True)


def window_files(store: Path) -> dict[str, bytes]:
    return {str(p.relative_to(store)): p.read_bytes() for p in store.rglob("windows/**/*.parquet")}


def snapshot(store: Path) -> str:
    return str(ask(store, "SELECT snapshot_id FROM snapshot"))


def test_preprocessing_by_jobs_equals_that_of_this_machine(
    folder: Path, env: dict[str, str]
) -> None:
    command = [str(BIN / "deaps"), "preprocess", BY_SLURM, "--set=store.root=by-slurm",
               "--set=execution.chunk_megabytes=0.1"]  # fmt: skip
    with running(command, folder, env, "preprocess") as process:
        started = wait_for(lambda: jobs(env, "deaps-worker"))
        written = folder / "by-slurm/windows"
        wait_for(lambda: any(written.rglob("*.parquet")), every_s=0.02)
        kill(env, started[0])
        assert process.wait(600) == 0, (folder / "preprocess.log").read_text()
    assert snapshot(folder / "by-slurm") == snapshot(folder / "local")
    assert set(window_files(folder / "by-slurm")) == set(window_files(folder / "local"))
    wait_for(lambda: not jobs(env, "deaps-worker"), 120)  # nothing is left on the cluster


def test_a_killed_training_goes_on_as_another_job_bit_for_bit(
    folder: Path, env: dict[str, str]
) -> None:
    run(folder, environment(), "preprocess", "--set=store.root=trained")
    (name,) = [path.name for path in (folder / "local/runs").iterdir()]
    command = [str(BIN / "deaps"), "train", "--method=byol", BY_SLURM, "--set=store.root=trained"]
    with running(command, folder, env, "train") as process:
        (job,) = wait_for(lambda: jobs(env, job_name(folder / "trained/runs" / name)))
        wait_for(lambda: list((folder / "trained/runs" / name / "checkpoints").glob("*")))
        kill(env, job)
        assert process.wait(900) == 0, (folder / "train.log").read_text()
    assert "starting it again from its last checkpoint" in (folder / "train.log").read_text()
    ours, expected = (weights(folder / store / "runs" / name) for store in ("trained", "local"))
    assert all(torch.equal(value, expected[key]) for key, value in ours.items())


def weights(run: Path) -> dict[str, torch.Tensor]:
    (last,) = sorted((run / "encoders").glob("*.safetensors"))[-1:]
    return dict(load_file(last))


def test_a_job_that_slurm_refuses_is_a_clear_message_and_nothing_is_lost(
    folder: Path, env: dict[str, str]
) -> None:
    refused = "--set=execution.slurm.partition=nowhere"
    started = time.monotonic()
    said = run(folder, env, "preprocess", BY_SLURM, refused, "--set=store.root=refused", code=2)
    assert "SLURM refuses such a job" in said
    assert "partition" in said
    assert "Traceback" not in said
    assert time.monotonic() - started < 200
    run(folder, environment(), "preprocess", "--set=store.root=refused")
    assert snapshot(folder / "refused") == snapshot(folder / "local")


def test_a_refused_training_is_a_clear_message_and_nothing_is_lost(
    folder: Path, env: dict[str, str]
) -> None:
    run(folder, environment(), "preprocess", "--set=store.root=refused-training")
    command = ("train", "--method=byol", "--set=store.root=refused-training")
    refused = "--set=execution.slurm.training_partition=nowhere"
    said = run(folder, env, *command, BY_SLURM, refused, code=2)
    assert "SLURM refuses such a job" in said
    assert "Traceback" not in said
    run(folder, ONE_THREAD, *command)
    (trained,) = (folder / "refused-training/runs").iterdir()
    expected = weights(folder / "local/runs" / trained.name)
    assert all(torch.equal(value, expected[key]) for key, value in weights(trained).items())


def test_a_whole_run_with_the_shown_settings_equals_that_of_this_machine(
    tmp_path: Path, env: dict[str, str]
) -> None:
    project = make_project(tmp_path / "project")
    run(project, ONE_THREAD, "run", "--set=store.root=local")
    # One machine is its own login node: only the network of this page's settings is another.
    here = {"[execution]\n": "", 'partition = "cpu" ': 'interface = "lo"\npartition = "cpu" '}
    shown = shown_block("operations.md", "[execution.slurm]", here)
    (project / "deaps.toml").write_text(TINY + shown)
    (command,) = commands(shown_block("operations.md", "deaps run\n"))
    run(project, env, *command.split()[1:], "--set=store.root=by-slurm")
    local, by_slurm = project / "local", project / "by-slurm"
    assert snapshot(by_slurm) == snapshot(local)
    assert figures(by_slurm) == figures(local)
    (trained,) = (by_slurm / "runs").iterdir()
    script = (trained / "slurm.sh").read_text()
    assert "deaps.train" in script
    assert "--partition=gpu" in script
    assert "--gres=gpu:1" in script
    names = [page.parent.name for page in by_slurm.glob("reports/*/index.html")]
    assert names == [page.parent.name for page in local.glob("reports/*/index.html")]
    assert len(names) == 1


def figures(store: Path) -> list[Any]:
    """Return every figure of a store's reports, with the digest of its encoder."""
    found = ask(
        store,
        "SELECT report, benchmark, method, metric, seed, value, low, high, n, encoder_sha256 "
        "FROM results ORDER BY ALL",
    )
    assert found
    return found
