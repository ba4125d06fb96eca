"""What makes an experiment affordable: bfloat16, and trainings side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import torch

from deaps.config import ModelSettings
from deaps.methods import build_method
from deaps.training.device import keep_freed_memory, settle_precision
from deaps.training.run_folder import Run
from flows.config import load_settings
from flows.launch import train_run
from tests.bench.figure import Figure
from tests.bench.training import BATCH, made_batch, seconds
from tests.deaps.training.training_store import make_run, make_training_store

STEPS = 5
ROUNDS = 2
TRAINED_STEPS = 30


def measure(folder: Path) -> list[Figure]:
    """Return the figures; where the processor has no bfloat16, the first is not a number."""
    return [bfloat16_step(), side_by_side(folder)]


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
    settings = load_settings(
        overrides=[
            f"store.root={runs[0].store}", "execution.device=cpu", "execution.trainings_at_once=2",
        ]
    )  # fmt: skip
    with ThreadPoolExecutor(len(runs)) as threads:
        begun = [threads.submit(train_run, run, settings) for run in runs]
    for each in begun:
        each.result()
    if not all(run.finished for run in runs):
        raise RuntimeError(f"not all of {[run.name for run in runs]} are finished")
