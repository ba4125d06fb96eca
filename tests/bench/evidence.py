"""What makes an experiment affordable: bfloat16, trainings side by side, folds at full size."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from deaps.config import ModelSettings
from deaps.methods import build_method
from deaps.probing.examples import Fold, Windows
from deaps.probing.features import write_features
from deaps.probing.fold_job import FoldJob, answer_from_files
from deaps.training.malloc import keep_freed_memory
from deaps.training.precision import settle_precision
from deaps.training.run_folder import Run
from flows.config import ExecutionSettings
from flows.runtime.dask_pool import worker_pool
from flows.train import train_beside_others
from tests.bench.classification import SAME, plain_fit_predict, timed
from tests.bench.figure import Figure
from tests.bench.training import BATCH, made_batch, seconds
from tests.deaps.training.training_store import make_run, make_training_store

STEPS = 5
ROUNDS = 2
TRAINED_STEPS = 30
SUBJECTS, WINDOWS, FEATURES = 23, 82_000, 128
"""MIT-AFIB at full size: 23 people of 10 h each."""
PLAIN_FOLDS = 2


def measure(folder: Path) -> list[Figure]:
    """Return the four figures; where the processor has no bfloat16, the first is not a number."""
    return [bfloat16_step(), side_by_side(folder), *full_size(folder)]


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


def side_by_side(
    folder: Path, *, steps: int = TRAINED_STEPS, batch: int = BATCH, rounds: int = ROUNDS
) -> Figure:
    """Return the time of two trainings one after the other over their time side by side.

    They are runs of DEAPS in the precision that ``auto`` takes. Each is trained as a pipeline with
    ``execution.trainings_at_once = 2`` does it: ``python -m deaps.train`` in a process of its own
    with one thread. Loading libraries and writing the run are part of it.
    """
    store = make_training_store(folder / "runs", subjects=batch)
    precision = settle_precision("auto", "cpu")
    seeds = count()

    def train(n: int) -> float:
        runs = [
            make_run(
                store, "deaps", batch=batch, iterations=steps, checkpoint_every=steps,
                evolution_every=steps, metrics_every=10, precision=precision, seed=next(seeds),
            )
            for _ in range(n)
        ]  # fmt: skip
        return seconds(lambda: _train_together(runs))

    best = {"one_after_the_other_s": math.inf, "side_by_side_s": math.inf}
    for _ in range(rounds):
        best["one_after_the_other_s"] = min(best["one_after_the_other_s"], train(1) + train(1))
        best["side_by_side_s"] = min(best["side_by_side_s"], train(2))
    return Figure(
        f"two trainings of {steps} steps side by side on two cores, against one after the other",
        best["one_after_the_other_s"] / best["side_by_side_s"], "times as fast", 1.8, 1.95,
        seen=best | {"precision": precision},
    )  # fmt: skip


def _train_together(runs: Sequence[Run]) -> None:
    """Train runs at one time, each in a process of its own."""
    execution = ExecutionSettings(device="cpu", trainings_at_once=2)
    with ThreadPoolExecutor(len(runs)) as threads:
        begun = [threads.submit(train_beside_others, run.folder, execution) for run in runs]
    for each in begun:
        each.result()
    if not all(run.finished for run in runs):
        raise RuntimeError(f"not all of {[run.name for run in runs]} are finished")


def full_size(
    folder: Path, *, people: int = SUBJECTS, windows: int = WINDOWS
) -> tuple[Figure, Figure]:
    """Return how much faster 23 folds over 82,000 windows are than with scikit-learn's SVC.

    That is the size of MIT-AFIB, 23 people of 10 h. Only the folds are timed: there is no ECG, and
    nothing is preprocessed or embedded. The features are made: Gaussian numbers with a place for
    each person and a shift for AFib, 128 for each window. Ours reads them from a file of features
    and does all folds as jobs for workers, one a core, as in an evaluation. The plain way does two
    folds in this process, on the arrays in memory; all have about the same size, so the rest is
    theirs again. The second figure is the share of these two folds' answers that are equal.
    """
    subjects, features, labels = made_features(people, windows)
    splits = [(np.nonzero(subjects != k)[0], np.nonzero(subjects == k)[0]) for k in range(people)]
    ours_s, ours = folds_on_workers(folder, features, labels, splits)
    plain = [
        timed(plain_fit_predict, (subjects == k, features, labels)) for k in range(PLAIN_FOLDS)
    ]
    plain_s = sum(fold_s for _, fold_s in plain) * people / PLAIN_FOLDS
    equal = np.concatenate([a == b for a, (b, _) in zip(ours[:PLAIN_FOLDS], plain, strict=True)])
    task = f"leave one of {people} people of 10 h out ({windows:,} windows of made features)"
    return (
        Figure(
            f"{task}, against plain scikit-learn (two folds, extrapolated)",
            plain_s / ours_s, "times as fast", 8.0, 12.0,
            seen={"ours_s": ours_s, "plain_s": plain_s},
        ),
        Figure(
            f"{task}: answers equal to plain scikit-learn's, of two folds",
            100 * float(equal.mean()), "%", 100 * SAME, seen={"answers": len(equal)},
        ),
    )  # fmt: skip


def folds_on_workers(
    folder: Path,
    features: NDArray[np.float32],
    labels: NDArray[np.int8],
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[float, list[NDArray[np.int8]]]:
    """Return the seconds that this machine's workers take for all folds of a file, and answers."""
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
        found = client.gather(answers)
        return time.perf_counter() - started, [fold.labels for fold in found]


def made_features(
    people: int, windows: int
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int8]]:
    """Return people, Gaussian features and labels of windows."""
    rng = np.random.default_rng(0)
    subjects = np.repeat(np.arange(people), -(-windows // people))[:windows]
    labels = (rng.random(windows) < rng.uniform(0.1, 0.9, people)[subjects]).astype(np.int8)
    shift = rng.standard_normal(FEATURES) * 0.25
    places = rng.standard_normal((people, FEATURES))
    features = places[subjects] + rng.standard_normal((windows, FEATURES)) + labels[:, None] * shift
    return subjects, features.astype(np.float32), labels
