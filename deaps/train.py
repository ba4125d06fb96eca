"""The training loop, top to bottom.

``train_run`` trains the run in a folder, from its newest checkpoint if there is one. The same
file is what torchrun starts in each process: ``torchrun ... -m deaps.train FOLDER``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from deaps.methods import build_method
from deaps.methods.interface import Method
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import about_encoder
from deaps.sampling.loader import BatchLoader
from deaps.sampling.sampler import Batch, open_sampler
from deaps.training.checkpoints import (
    load_checkpoint,
    remove_checkpoints,
    save_checkpoint,
    save_encoder,
)
from deaps.training.device import autocast_type, choose_device, keep_freed_memory
from deaps.training.metrics import MetricsLog, effective_rank, representation_std
from deaps.training.run_folder import Run, encoder_path, finish_run, note_failure, open_run
from deaps.training.trained_on import read_trained_on, save_trained_on
from storage.errors import DeapsError
from storage.locks import steps_lock
from storage.window_store import raise_open_file_limit

_STOPPED = 130
"""Exit code of a process that a signal stopped."""

Progress = Callable[[int, int, dict[str, float]], None]
"""Called with the steps done, the steps in all, and the last row of metrics."""

Notify = Callable[[str], None]
"""Takes a line for people."""


Stop = Callable[[], bool]
"""Returns whether the training has been asked to stop after the step it is at."""


class TrainingStoppedError(DeapsError):
    """Somebody stopped the training; its checkpoint is written."""


@dataclass(frozen=True, slots=True)
class TrainingState:
    """What a step changes, and where it runs: process ``rank`` of ``world``."""

    run: Run
    method: Method
    module: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    device: torch.device
    rank: int
    world: int


def train_run(
    folder: Path,
    *,
    device: str = "auto",
    progress: Progress | None = None,
    notify: Notify | None = None,
    stop: Stop = lambda: False,
) -> Run:
    """Train the run in ``folder`` to its end and return it; a finished run is left alone.

    ``notify`` takes sentences for people; by default they go to standard error.

    Raises
    ------
    TrainingStoppedError
        If ``stop`` returned True after a step, and the checkpoint of that step is written.
    DeapsError
        If another process trains the run.
    """
    notify = notify or _print_on_stderr
    run = open_run(folder)
    if run.finished:
        return run
    keep_freed_memory()
    raise_open_file_limit()  # windows are drawn from all recordings at random
    with _only_steps(folder), process_group() as (rank, world):
        state = prepare(run, choose_device(device), rank, world)
        done = resume(state, notify)
        with open_loader(state, done, notify) as loader:
            if rank == 0:
                train_rank_zero(state, loader, done, progress, stop)
            else:
                # The same steps with the same weights; only the first process writes.
                for _ in take_steps(state, loader, done):
                    pass
    return run


def _only_steps(folder: Path) -> contextlib.AbstractContextManager[None]:
    """Keep other trainings of a run away; the first of torchrun's processes does so for all.

    It does so before they meet, so that all of them load the same checkpoint.
    """
    is_first = int(os.environ.get("RANK", "0")) == 0
    return steps_lock(folder) if is_first else contextlib.nullcontext()


def train_rank_zero(
    state: TrainingState,
    loader: BatchLoader,
    done: int,
    progress: Progress | None,
    stop: Stop = lambda: False,
) -> None:
    """Take all steps and write metrics, encoders, checkpoints and, last, the run's end."""
    run, plan = state.run, state.run.plan
    training, total = plan.training, plan.iterations
    if done == 0:
        write_earlier_encoder(state, 0)
    clock = StepClock(loader, done)
    with MetricsLog(run.folder, resume_step=done) as log:
        for step, batch, terms in take_steps(state, loader, done):
            if step % training.metrics_every == 0 or step == total:
                row = clock.row(step, batch, state.world) | metrics_row(state, batch, terms, step)
                log.write(row)
                if progress is not None:
                    progress(step, total, row)
            if step == total:
                write_encoder(state, step)
            elif step % training.evolution_every == 0:
                write_earlier_encoder(state, step)
            # None of the last step: the run is finished in a moment, and never goes on.
            stops = stop()
            if (step % training.checkpoint_every == 0 or stops) and step < total:
                write_checkpoint(state, step)
            if stops and step < total:
                raise TrainingStoppedError(
                    f"run {run.name}: stopped at step {step:,} of {total:,}; the same command "
                    f"goes on from step {step:,}"
                )
    synthetic = read_trained_on(run).synthetic
    finish_run(run, device=str(state.device), processes=state.world, synthetic=synthetic)
    remove_checkpoints(run.folder)  # after the mark: a kill in between must not cost the training


def take_steps(
    state: TrainingState, loader: BatchLoader, done: int
) -> Iterator[tuple[int, Batch, dict[str, Tensor]]]:
    """Take one step for each batch; yield its number, the batch and the terms of the loss."""
    for step, batch in enumerate(loader, start=done + 1):
        yield step, batch, take_step(state, batch, step)


def take_step(state: TrainingState, batch: Batch, step: int) -> dict[str, Tensor]:
    """Take one step of the optimiser, then move the teacher; return the loss terms."""
    training, optimizer, scaler = state.run.plan.training, state.optimizer, state.scaler
    for group in optimizer.param_groups:
        group["lr"] = training.learning_rate * min(1.0, step / max(1, training.warmup))
    dtype = autocast_type(state.device, training.precision)
    with torch.autocast(state.device.type, dtype=dtype, enabled=dtype is not None):
        terms: dict[str, Tensor] = state.module(batch)
    stop_unless_finite(terms["loss"], "loss", step, state.run)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(terms["loss"]).backward()  # type: ignore[no-untyped-call]
    if not scaler.is_enabled():  # with float16 the scaler skips steps that overflow
        gradients = [p.grad for p in state.method.parameters() if p.grad is not None]
        terms["gradient_norm"] = torch.nn.utils.get_total_norm(gradients)
        stop_unless_finite(terms["gradient_norm"], "gradient", step, state.run)
    scaler.step(optimizer)
    scaler.update()
    state.method.after_step()
    return terms


def stop_unless_finite(value: Tensor, what: str, step: int, run: Run) -> None:
    """Stop the run where ``value`` is not a number, before anything of it is kept."""
    if not torch.isfinite(value):
        raise DeapsError(
            f"run {run.name}: the {what} is {float(value.detach())} at step {step}; the last "
            "checkpoint is kept. Lower training.learning_rate, add training.warmup or use "
            "training.precision=float32"
        )


def metrics_row(
    state: TrainingState, batch: Batch, terms: dict[str, Tensor], step: int
) -> dict[str, float]:
    """Return loss terms and how far the representations are from collapse."""
    with torch.no_grad():
        representations = state.method.encoder(batch.windows[:, 0])
    # The loss is that of the weights before the step; one that was too large shows here first.
    stop_unless_finite(representations.abs().max(), "largest representation", step, state.run)
    return {name: float(value.detach()) for name, value in terms.items()} | {
        "learning_rate": state.optimizer.param_groups[0]["lr"],
        "representation_std": representation_std(representations),
        "effective_rank": effective_rank(representations),
    }


class StepClock:
    """Windows a second and the share of time spent waiting for data, between two rows."""

    def __init__(self, loader: BatchLoader, step: int) -> None:
        self._loader, self._step = loader, step
        self._start, self._waited = time.perf_counter(), loader.waited_s

    def row(self, step: int, batch: Batch, world: int) -> dict[str, Any]:
        """Return what happened since the last row."""
        now, waited = time.perf_counter(), self._loader.waited_s
        elapsed, taken = now - self._start, step - self._step
        n, views = batch.windows.shape[:2]
        row = {
            "step": step,
            "step_s": elapsed / taken,
            "windows_per_s": taken * world * n * views / elapsed,
            "waiting_share": (waited - self._waited) / elapsed,
        }
        self._start, self._waited, self._step = now, waited, step
        return row


def prepare(run: Run, device: torch.device, rank: int, world: int) -> TrainingState:
    """Return a method with its initial weights, and its optimiser."""
    training = run.plan.training
    torch.manual_seed(training.seed)
    method = build_method(run.plan.method, run.plan.model).to(device)
    optimizer = torch.optim.Adam(
        [p for p in method.parameters() if p.requires_grad],
        lr=training.learning_rate,
        weight_decay=training.weight_decay,
    )
    needs_scaling = autocast_type(device, training.precision) is torch.float16
    scaler = torch.amp.GradScaler(device.type, enabled=needs_scaling)
    module = wrap(method, device, world)
    return TrainingState(run, method, module, optimizer, scaler, device, rank, world)


def wrap(method: Method, device: torch.device, world: int) -> nn.Module:
    """Return the module that a step calls: compiled on CUDA, shared between processes."""
    if device.type == "cuda":
        for module in method.modules():  # the teacher's, too
            if isinstance(module, Encoder):
                module.compile()
    if world == 1:
        return method
    # Buffers are equal in all processes already: heads see the gathered batch.
    ids = [device] if device.type == "cuda" else None
    return DistributedDataParallel(method, device_ids=ids, forward_sync_buffers=False)


def open_loader(state: TrainingState, done: int, notify: Notify) -> BatchLoader:
    """Return the loader of the remaining steps' batches, and save who they are drawn from."""
    run = state.run
    training, plan = run.plan.training, run.plan
    sampler = open_sampler(
        run.index, state.method.views, plan.sampling, batch=training.batch, seed=training.seed
    )
    if state.rank == 0:
        save_trained_on(run, sampler)
        for note in sampler.notes:
            notify(note)
    return BatchLoader(
        run.store,
        run.index,
        sampler,
        first_step=done,
        last_step=plan.iterations,
        rank=state.rank,
        world=state.world,
        device=state.device,
        normalise=plan.normalise,
    )


def resume(state: TrainingState, notify: Notify) -> int:
    """Load the newest whole checkpoint and return its step, 0 without one."""
    run = state.run
    loaded = load_checkpoint(
        run.folder,
        method=state.method,
        method_name=run.plan.method,
        config_digest=run.config_digest,
        notify=notify,
    )
    if loaded is None:
        return 0
    step, saved = loaded
    state.optimizer.load_state_dict(saved["optimizer"])
    state.scaler.load_state_dict(saved["scaler"])
    torch.set_rng_state(saved["rng"])
    if state.rank == 0:
        notify(f"run {run.name}: going on from step {step}")
    return step


def write_checkpoint(state: TrainingState, step: int) -> None:
    """Write the checkpoint of ``step``."""
    save_checkpoint(
        state.run.folder,
        step,
        method=state.method,
        method_name=state.run.plan.method,
        config_digest=state.run.config_digest,
        state={
            "optimizer": state.optimizer.state_dict(),
            "scaler": state.scaler.state_dict(),
            "rng": torch.get_rng_state(),
        },
        keep=state.run.plan.training.keep_checkpoints,
    )


def write_earlier_encoder(state: TrainingState, step: int) -> None:
    """Write the encoder of ``step``, unless only the last one is kept of this method."""
    if state.run.plan.method not in state.run.plan.training.last_encoder_only:
        write_encoder(state, step)


def write_encoder(state: TrainingState, step: int) -> None:
    """Write the encoder of ``step`` alone."""
    path = encoder_path(state.run.folder, step)
    encoder = state.method.encoder
    about = about_encoder(state.run, encoder, step, read_trained_on(state.run))
    save_encoder(path, encoder, about)


def _print_on_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")


@contextlib.contextmanager
def process_group() -> Iterator[tuple[int, int]]:
    """Join the processes that torchrun started; yield this one's rank and their number."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield 0, 1
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield dist.get_rank(), dist.get_world_size()
    finally:
        dist.destroy_process_group()


def main() -> None:
    """Train the run in a folder; what each of torchrun's processes executes.

    Ctrl-C and SIGTERM stop it after the step it is at, with a checkpoint.
    """
    parser = argparse.ArgumentParser(prog="python -m deaps.train", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    asked: list[int] = []
    # The first process stops; the others take the same steps until it is gone.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: asked.append(number))
    try:
        train_run(arguments.folder, device=arguments.device, stop=lambda: bool(asked))
    except TrainingStoppedError as error:
        _print_on_stderr(str(error))
        os._exit(_STOPPED)  # torch's threads may wait for the other processes
    except Exception as error:
        # Among several processes, only our own errors are a reason: others follow from a death.
        if isinstance(error, DeapsError) or int(os.environ.get("WORLD_SIZE", "1")) == 1:
            note_failure(arguments.folder, str(error) or type(error).__name__)
        if isinstance(error, DeapsError):
            _print_on_stderr(str(error))
            sys.exit(2)
        raise


if __name__ == "__main__":
    main()
