"""A DEAPS step: against a plain version, the machine's products, and in two processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import Tensor

from deaps.config import ModelSettings
from deaps.methods import build_method
from deaps.methods.interface import Method
from deaps.models.encoder import BLOCKS, HIDDEN, PATCH, TOKENS, WIDTH
from deaps.sampling.sampler import Batch
from deaps.training.device import keep_freed_memory
from tests.bench.figure import Figure
from tests.bench.plain_step import make_plain
from tests.bench.processes import seconds_a_step

BATCH = 64
ROUNDS = 3
STEPS = 5
PASSES = 16
"""Encoder passes' worth of products a sample: four windows, each once through the teacher, once
through the student, and twice as much for the student's gradient."""


def measure(folder: Path) -> list[Figure]:
    """Return the step's speed as ratios, and the loader's share of it."""
    times = {"ours_s": float("inf"), "plain_s": float("inf")}
    for _ in range(ROUNDS):
        for name, fastest in (("ours_s", fastest_ours), ("plain_s", fastest_plain)):
            # Each in processes of its own: what one does with memory must not help the other.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                times[name] = min(times[name], process.submit(fastest).result())
    achieved = PASSES * BATCH * encoder_flops() / times["ours_s"]
    possible = matrix_product_rate()
    one, two = seconds_a_step(folder, processes=1), seconds_a_step(folder, processes=2)
    return [
        Figure(
            "DEAPS step, batch 64, against a plain version",
            times["plain_s"] / times["ours_s"], "times as fast", 1.0, 1.1, seen=times,
        ),
        Figure(
            "its arithmetic rate, against the machine's matrix products at the layers' shapes",
            achieved / possible, "of it", 0.5, 0.65,
            seen={"step_gflops": achieved / 1e9, "product_gflops": possible / 1e9},
        ),
        Figure(
            "share of a step spent waiting for data",
            100 * one["waiting_share"], "%", 2, 0.5, higher=False, seen=one,
        ),
        Figure(
            "two processes of one thread, against one process of one thread",
            one["step_s"] / two["step_s"], "times as fast", 1.6, 1.85,
            seen={"one_s": one["step_s"], "two_s": two["step_s"]},
        ),
    ]  # fmt: skip


def fastest_ours() -> float:
    """Return the seconds of the fastest step as `deaps.train` takes it."""
    keep_freed_memory()
    step = step_of(build_method("deaps", ModelSettings()))
    return min(seconds(step) for _ in range(STEPS))


def fastest_plain() -> float:
    """Return the seconds of the fastest plain step."""
    step = step_of(make_plain(build_method("deaps", ModelSettings())))
    return min(seconds(step) for _ in range(STEPS))


def step_of(method: Method, batch: Batch | None = None) -> Callable[[], None]:
    """Return a function that takes one step on a fixed batch."""
    optimizer = torch.optim.Adam([p for p in method.parameters() if p.requires_grad])
    batch = made_batch() if batch is None else batch

    def step() -> None:
        optimizer.zero_grad()
        method(batch)["loss"].backward()
        optimizer.step()
        method.after_step()

    step()
    return step


def made_batch(samples: int = BATCH) -> Batch:
    """Return quadruples of noise, by default as many as a step of the open experiment has."""
    return Batch(
        windows=torch.randn(samples, 4, 1000),
        before_s=torch.full((samples,), 50.0),
        after_s=torch.full((samples,), 70.0),
        subjects=torch.arange(samples),
        seed=0,
    )


def seconds(function: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def encoder_flops() -> int:
    """Return the operations of the matrix products of one window's forward pass."""
    block = 4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN + 2 * TOKENS * WIDTH
    return 2 * TOKENS * (PATCH * WIDTH + BLOCKS * block)


def matrix_product_rate() -> float:
    """Return operations a second of the layers' products, weighted as in the encoder."""
    rows = BATCH * TOKENS
    shapes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, HIDDEN), (HIDDEN, WIDTH)]
    total_s = sum(product_seconds(torch.randn(rows, a), torch.randn(a, b)) for a, b in shapes)
    return 2 * rows * sum(a * b for a, b in shapes) / total_s


def product_seconds(left: Tensor, right: Tensor) -> float:
    """Return the fastest of some products, as BLAS is called by a linear layer."""
    out = torch.empty(left.shape[0], right.shape[1])
    return min(seconds(lambda: torch.mm(left, right, out=out)) for _ in range(30))
