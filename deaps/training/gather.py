"""One batch over several processes.

Each process encodes its own windows; representations are then gathered, and heads, batch
statistics and losses are computed on the whole batch by every process alike. The heads' work is
small beside the encoder's, and one process and many agree by construction: every process has
the same loss, a gathered row's gradient is the sum over processes, and DDP's mean divides that
by their number again.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def world_size() -> int:
    """Return the number of processes, 1 without torch.distributed."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


class _GatherRows(torch.autograd.Function):
    """All processes' rows, interleaved as rank::world took them apart."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        world = dist.get_world_size()
        parts = [torch.empty_like(rows) for _ in range(world)]
        dist.all_gather(parts, rows.contiguous())
        ctx.world, ctx.rank = world, dist.get_rank()
        return torch.stack(parts, dim=1).flatten(0, 1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        gradient = gradients[0].clone(memory_format=torch.contiguous_format)
        dist.all_reduce(gradient)
        return gradient[ctx.rank :: ctx.world].contiguous()


def gather_rows(rows: Tensor) -> Tensor:
    """Return the rows of all processes in the order of the global batch, with gradient.

    ``rows`` is (n, ...), n the same in every process; the result (n * world, ...).
    """
    if world_size() == 1:
        return rows
    gathered: Tensor = _GatherRows.apply(rows)  # type: ignore[no-untyped-call]
    return gathered
