"""One step of each method by two processes and by one, compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from deaps.config import DeapsSettings, EncoderSettings, ModelSettings, TfcSettings
from deaps.method_registry import PAPER_METHODS
from deaps.methods import build_method
from deaps.methods.interface import Method
from deaps.sampling.sampler import Batch
from tests.deaps.sampling.made_batches import made_batch

WORLD = 2
CASES = {name: (name, ModelSettings()) for name in PAPER_METHODS} | {
    "covariance step": ("deaps", ModelSettings(deaps=DeapsSettings(gradual=False))),
    "batch-normalised patches": (
        "deaps",
        ModelSettings(encoder=EncoderSettings(patch_norm="batch")),
    ),
    "tf-c across the batch": ("tf-c", ModelSettings(tfc=TfcSettings(attention="batch"))),
}


def made(case: str) -> Method:
    torch.manual_seed(0)
    name, settings = CASES[case]
    return build_method(name, settings)


def share(batch: Batch, rank: int) -> Batch:
    names = ("windows", "before_s", "after_s", "subjects")
    rows = {name: getattr(batch, name)[rank::WORLD] for name in names}
    return replace(batch, **rows, rank=rank, world=WORLD)


def result(method: Method, terms: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return all that a step leaves: terms, gradients, and running statistics."""
    terms["loss"].backward()
    gradients = {
        f"gradient of {k}": p.grad for k, p in method.named_parameters() if p.requires_grad
    }
    buffers = {k: b for k, b in method.named_buffers() if b.is_floating_point()}
    left = {**terms, **gradients, **buffers}
    return {key: tensor.detach().clone() for key, tensor in left.items() if tensor is not None}


def difference(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> tuple[str, float]:
    """Return what differs most, and by how much."""
    apart = {key: (ours[key] - theirs[key]).abs().max().item() for key in theirs}
    worst = max(apart, key=lambda key: apart[key])
    return worst, apart[worst]


def compare(rank: int, folder: str) -> None:
    """Write, from rank 0, each case's largest difference between two processes and one."""
    torch.set_num_threads(1)
    differences = {}
    for case in CASES:
        meeting = (Path(folder) / case.replace(" ", "-")).as_uri()
        dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=WORLD)
        method = made(case)
        batch = made_batch(method.views)
        # Named, because the backward pass needs the wrapper alive.
        wrapper = DistributedDataParallel(method)
        shared = result(method, wrapper(share(batch, rank)))
        dist.barrier()
        dist.destroy_process_group()
        if rank == 0:
            method = made(case)
            differences[case] = difference(shared, result(method, method(batch)))
    if rank == 0:
        (Path(folder) / "differences.json").write_text(json.dumps(differences))
