"""Projection heads, the teacher that follows them slowly, and the batch of all processes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import chain
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from deaps.models.encoder import WIDTH

HIDDEN = 512
FEATURES = 256


def projector(*, batch_norm: bool = True) -> nn.Sequential:
    """Return a head from representations, (n, 128), to projections, (n, 256)."""
    return head(WIDTH, HIDDEN, FEATURES, batch_norm=batch_norm)


def predictor() -> nn.Sequential:
    """Return a head from projections, (n, 256), to predictions of the teacher's, (n, 256)."""
    return head(FEATURES, HIDDEN, FEATURES)


def head(inputs: int, hidden: int, outputs: int, *, batch_norm: bool = True) -> nn.Sequential:
    """Return Linear, BatchNorm, ReLU, Linear: (n, inputs) to (n, outputs).

    "Batch normalization and ReLU operations are incorporated between the two layers of each
    structure." (the paper, on DEAPS). The heads of PCLR, CLOCS and Mixing-Up have no batch norm.
    """
    norm = [nn.BatchNorm1d(hidden)] if batch_norm else []
    return nn.Sequential(nn.Linear(inputs, hidden), *norm, nn.ReLU(), nn.Linear(hidden, outputs))


class Teacher(nn.Module):
    """An exponential moving average of the student's encoder and projectors.

    "Both the teacher network and the teacher projector serve as an EMA of the student network."
    It starts as an equal copy, is given no gradient, and its batch norms always use the
    statistics of the batch.

    Parameters
    ----------
    encoder, projectors
        The student's. They are copied, and looked at again in each `update`.
    average_buffers
        Let the batch norms' running statistics follow the student's, too. The teacher itself
        never reads them.
    """

    def __init__(
        self, encoder: nn.Module, projectors: nn.ModuleDict, *, average_buffers: bool = False
    ) -> None:
        super().__init__()
        self.encoder = deepcopy(encoder)
        self.projectors = deepcopy(projectors)
        self.average_buffers = average_buffers
        # In a tuple, because a module set as an attribute would become a part of the teacher.
        self._student = (encoder, projectors)
        self.requires_grad_(False)

    @torch.no_grad()
    def forward(self, windows: Tensor) -> Tensor:
        """Return representations, (n, 128), of windows, (n, 1000), without gradient."""
        return self.encoder(windows)

    @torch.no_grad()
    def project(self, name: str, representations: Tensor) -> Tensor:
        """Return projections, (n, 256), of representations, (n, 128), without gradient."""
        return self.projectors[name](representations)

    @torch.no_grad()
    def update(self, tau: float) -> None:
        """Move by 1 - tau of the way to the student: "xi <- tau xi + (1 - tau) theta"."""
        student = chain.from_iterable(part.parameters() for part in self._student)
        _average(list(self.parameters()), list(student), tau)
        if self.average_buffers:
            self._update_buffers(tau)

    def train(self, mode: bool = True) -> Self:
        """Stay in training mode, whatever the student's: batch statistics are its only ones."""
        return super().train(True)

    def _update_buffers(self, tau: float) -> None:
        pairs = list(zip(self.buffers(), self._student_buffers(), strict=True))
        averaged = [pair for pair in pairs if pair[0].is_floating_point()]
        _average([own for own, _ in averaged], [theirs for _, theirs in averaged], tau)
        for own, theirs in pairs:
            if not own.is_floating_point():
                own.copy_(theirs)

    def _student_buffers(self) -> Iterator[Tensor]:
        return chain.from_iterable(part.buffers() for part in self._student)


def _average(own: list[Tensor], theirs: list[Tensor], tau: float) -> None:
    """Keep a share tau of each tensor and take the rest from the other, all in one fused call."""
    if own:
        get_ema_multi_avg_fn(tau)(own, theirs, 0)  # type: ignore[no-untyped-call]


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
