"""kill -9 of training, embedding and report."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import numpy as np
import psutil
import torch

from deaps import Encoder
from deaps.embed import embed_dataset
from deaps.report import write_report
from deaps.train import train_run
from deaps.training.run_folder import encoder_files
from tests.deaps.report.made_evaluation import made_evaluation
from tests.deaps.training.training_store import make_run, make_training_store
from tests.flows.prefect_processes import wait_for
from tests.torture.child import BrokenError, Child, forked

STEPS = 8


def kill_in_training(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Kill a training at any moment, or while a checkpoint is written, and let it go on."""
    expected = trained_without_kill(str(folder.parent / "reference"))
    forked(partial(prepare_run, folder))
    for _ in range(2):
        child = Child(partial(train, folder, at_checkpoint=number % 2 == 1))
        time.sleep(float(rng.uniform(0.3, 4.0)))
        child.kill()
        child.wait()
    if forked(partial(train, folder)) != expected:
        raise BrokenError("I9: the encoders differ from those of an uninterrupted training")


def kill_a_rank(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Kill one of two processes of torchrun, and let the training go on."""
    expected = _trained_by_two(str(folder.parent / "reference-two"))
    forked(partial(prepare_run, folder))
    command = _torchrun(folder)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ranks = wait_for(lambda: len(_ranks(process.pid)) == 2 and _ranks(process.pid))
    if number % 2:  # in the middle: a checkpoint is there, or being written
        wait_for(lambda: process.poll() is not None or _has_checkpoint(folder))
        time.sleep(float(rng.uniform(0, 0.5)))
    else:
        time.sleep(float(rng.uniform(0, 8)))
    with suppress(ProcessLookupError):
        os.kill(ranks[int(rng.integers(2))], signal.SIGKILL)
    process.wait(120)
    if left := [pid for pid in ranks if psutil.pid_exists(pid)]:
        raise BrokenError(f"orphans: {len(left)} of two processes outlive torchrun")
    subprocess.run(command, check=False, capture_output=True, timeout=200)
    if _encoders(folder) != expected:
        raise BrokenError("I9: the encoders differ from those of an uninterrupted training")


def kill_while_writing(rng: np.random.Generator, number: int, folder: Path) -> None:
    """Kill the writing of a report or of embeddings: the old one stays, or the new one is whole."""
    work, name = (write_made_report, "index.html") if number % 2 else (embed, "out.parquet")
    if number % 2 == 0:
        forked(partial(make_training_store, folder / "store", 2))
    forked(partial(work, folder, 0))
    old = (folder / name).read_bytes()
    new_folder = folder / "new"
    shutil.copytree(folder, new_folder)
    forked(partial(work, new_folder, 1))
    child = Child(partial(work, folder, 1))
    time.sleep(float(rng.uniform(0, 1.0)))
    child.kill()
    child.wait()
    if (folder / name).read_bytes() not in (old, (new_folder / name).read_bytes()):
        raise BrokenError(f"I10: {name} is neither the old one nor the new one")


def write_made_report(folder: Path, version: int) -> None:
    evaluation = made_evaluation()
    titled = evaluation.model_copy(update={"title": f"{evaluation.title} {version}"})
    write_report(titled, folder)


def embed(folder: Path, version: int) -> None:
    torch.manual_seed(version)
    embed_dataset(folder / "store", "ds", Encoder(), folder / "out.parquet")


def prepare_run(folder: Path) -> Path:
    if not (folder / "store" / "index.duckdb").exists():
        make_training_store(folder / "store", subjects=3)
    return make_run(folder / "store", iterations=STEPS).folder


def train(folder: Path, *, at_checkpoint: bool = False) -> str:
    torch.set_num_threads(1)
    run = prepare_run(folder)
    if at_checkpoint:
        import deaps.training.checkpoints as checkpoints

        slow, fsync = time.sleep, checkpoints.fsync_path

        def late(path: Path) -> None:
            slow(0.5)  # so that kills fall into the writing
            fsync(path)

        checkpoints.fsync_path = late  # type: ignore[attr-defined]
    train_run(run, device="cpu", notify=lambda _: None)
    return _encoders(folder)


def _encoders(folder: Path) -> str:
    (run,) = (folder / "store" / "runs").iterdir()
    files = [path.read_bytes() for _, path in encoder_files(run)]
    return f"{len(files)} {hash_of(b''.join(files))}"


def hash_of(data: bytes) -> str:
    """Return the beginning of a digest."""
    import hashlib

    return hashlib.sha256(data).hexdigest()[:16]


@cache
def trained_without_kill(folder: str) -> str:
    Path(folder).mkdir(parents=True, exist_ok=True)
    return str(forked(partial(train, Path(folder))))


@cache
def _trained_by_two(folder: str) -> str:
    path = Path(folder)
    forked(partial(prepare_run, path))
    subprocess.run(_torchrun(path), check=True, capture_output=True, timeout=200)
    return _encoders(path)


def _torchrun(folder: Path) -> list[str]:
    (run,) = (folder / "store" / "runs").iterdir()
    options = ["--standalone", "--nproc-per-node=2", "-m", "deaps.train"]
    return [sys.executable, "-m", "torch.distributed.run", *options, str(run), "--device=cpu"]


def _has_checkpoint(folder: Path) -> bool:
    return any((folder / "store" / "runs").glob("*/checkpoints/step-*"))


def _ranks(pid: int) -> list[int]:
    children = psutil.Process(pid).children(recursive=True)
    return [child.pid for child in children if "deaps.train" in " ".join(child.cmdline())]
