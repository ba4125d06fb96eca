"""What makes an experiment affordable: bfloat16, trainings side by side, folds at full size."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from deaps.config import ModelSettings
from deaps.methods import build_method
from deaps.probing.examples import Fold, Windows
from deaps.probing.features import write_features
from deaps.probing.fold_job import FoldJob, answer_from_files
from deaps.training.malloc import keep_freed_memory
from deaps.training.precision import settle_precision
from flows.config import ExecutionSettings
from flows.runtime.dask_pool import worker_pool
from tests.bench.figure import Figure
from tests.bench.training import made_batch, seconds

STEPS = 5
ROUNDS = 2
TRAINED_STEPS = 8
SUBJECTS, WINDOWS, FEATURES = 23, 82_000, 128
"""MIT-AFIB at full size: 23 people of 10 h each."""
PLAIN_FOLDS = 2


def measure(folder: Path) -> list[Figure]:
    """Return the three figures; where the processor has no bfloat16, the first is not a number."""
    return [bfloat16_step(), side_by_side(), full_size(folder)]


def bfloat16_step() -> Figure:
    """Return how much faster a step is in the precision that ``auto`` takes than in float32."""
    keep_freed_memory()
    torch.set_num_threads(1)
    auto = settle_precision("auto", "cpu")
    seen = {"auto": auto}
    ratio = math.nan
    if auto == "bfloat16":
        full, half = step_seconds(None), step_seconds(torch.bfloat16)
        ratio, seen = full / half, seen | {"float32_s": full, "bfloat16_s": half}
    return Figure(
        "DEAPS step, batch 64, one thread, auto against float32 (nan: no bfloat16 in this CPU)",
        ratio, "times as fast", 1.6, 1.9, seen=seen,
    )  # fmt: skip


def step_seconds(dtype: torch.dtype | None) -> float:
    """Return the seconds of the fastest of some steps."""
    torch.manual_seed(0)
    method = build_method("deaps", ModelSettings())
    optimizer = torch.optim.Adam([p for p in method.parameters() if p.requires_grad])
    batch = made_batch()

    def step() -> None:
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            loss = method(batch)["loss"]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        method.after_step()

    return min(seconds(step) for _ in range(STEPS))


_TRAIN = """
import time, torch
from deaps.config import ModelSettings
from deaps.methods import build_method
from deaps.training.malloc import keep_freed_memory
from tests.bench.training import made_batch
keep_freed_memory()
torch.set_num_threads(1)
torch.manual_seed(0)
method, batch = build_method("deaps", ModelSettings()), made_batch()
optimizer = torch.optim.Adam([p for p in method.parameters() if p.requires_grad])
print("ready", flush=True)
steps = int(input())  # loading libraries is no part of a training
started = time.perf_counter()
for _ in range(steps):
    loss = method(batch)["loss"]
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    method.after_step()
print(time.perf_counter() - started)
"""


def side_by_side() -> Figure:
    """Return the time of two trainings one after the other over their time side by side."""
    best = {"one_after_the_other_s": math.inf, "side_by_side_s": math.inf}
    for _ in range(ROUNDS):
        in_turn = sum(_train_together(1) for _ in range(2))
        best["one_after_the_other_s"] = min(best["one_after_the_other_s"], in_turn)
        best["side_by_side_s"] = min(best["side_by_side_s"], _train_together(2))
    return Figure(
        "two trainings side by side on two cores, against one after the other",
        best["one_after_the_other_s"] / best["side_by_side_s"], "times as fast", 1.8, 1.95,
        seen=best,
    )  # fmt: skip


def _train_together(n: int) -> float:
    """Return the seconds until the last of ``n`` trainings that start at one moment is done."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _TRAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for _ in range(n)
    ]
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    for process in processes:
        assert process.stdin
        process.stdin.write(f"{TRAINED_STEPS}\n")
        process.stdin.flush()
    return max(float(process.communicate(timeout=600)[0]) for process in processes)


def full_size(folder: Path) -> Figure:
    """Return how much faster 23 folds over 82,000 windows are than with scikit-learn's SVC.

    The folds are jobs for workers, one a core, as in an evaluation. The plain way does two folds in
    this process; all have about the same size, so the rest is theirs again.
    """
    subjects, features, labels = made_features()
    splits = [(np.nonzero(subjects != k)[0], np.nonzero(subjects == k)[0]) for k in range(SUBJECTS)]
    ours_s = folds_on_workers_s(folder, features, labels, splits)
    started = time.perf_counter()
    for train, test in splits[:PLAIN_FOLDS]:
        plain = make_pipeline(StandardScaler(), SVC(C=1.0, gamma="scale"))
        plain.fit(features[train], labels[train]).predict(features[test])
    plain_s = (time.perf_counter() - started) * SUBJECTS / PLAIN_FOLDS
    return Figure(
        "leave one of 23 people of 10 h out, against plain scikit-learn (two folds, extrapolated)",
        plain_s / ours_s, "times as fast", 8.0, 12.0, seen={"ours_s": ours_s, "plain_s": plain_s},
    )  # fmt: skip


def folds_on_workers_s(
    folder: Path,
    features: NDArray[np.float32],
    labels: NDArray[np.int8],
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> float:
    """Return the seconds that this machine's workers take for all folds of an encoder's file."""
    places = np.arange(len(labels))
    windows = Windows(np.zeros(len(labels), np.int32), places.astype(np.int32))
    path = folder / "features.parquet"
    write_features(path, windows, features)
    folds = tuple(Fold(str(k), train, test) for k, (train, test) in enumerate(splits))
    job = FoldJob(labels, 2, windows, places, folds)
    with worker_pool(ExecutionSettings()) as client:
        small = Fold("small", places[:200], places[200:201])
        loading = FoldJob(labels, 2, windows, places, (small,))
        client.run(answer_from_files, loading, [path], 0, "svc")  # loads libraries
        started = time.perf_counter()
        sent = client.submit(lambda: job)
        answers = [
            client.submit(answer_from_files, sent, [path], k, "svc", pure=False)
            for k in range(len(folds))
        ]
        client.gather(answers)
        return time.perf_counter() - started


def made_features() -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int8]]:
    """Return people, features and labels that are about as hard as real ones."""
    rng = np.random.default_rng(0)
    subjects = np.repeat(np.arange(SUBJECTS), -(-WINDOWS // SUBJECTS))[:WINDOWS]
    labels = (rng.random(WINDOWS) < rng.uniform(0.1, 0.9, SUBJECTS)[subjects]).astype(np.int8)
    shift = rng.standard_normal(FEATURES) * 0.25
    people = rng.standard_normal((SUBJECTS, FEATURES))
    features = people[subjects] + rng.standard_normal((WINDOWS, FEATURES)) + labels[:, None] * shift
    return subjects, features.astype(np.float32), labels
