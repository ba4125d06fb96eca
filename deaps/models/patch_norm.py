"""Batch normalisation of patches: each of a patch's samples by its mean and deviation."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn


class PatchBatchNorm(nn.Module):
    """Batch norm over all patches of the global batch: (n, tokens, samples), same shape.

    In training its statistics are those of all processes' patches together, so that one process
    and many agree. Patches are data and ask for no gradient, which makes that a plain sum.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, samples: int, *, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight = nn.Parameter(torch.ones(samples))
        self.bias = nn.Parameter(torch.zeros(samples))
        self.register_buffer("running_mean", torch.zeros(samples))
        self.register_buffer("running_var", torch.ones(samples))

    def forward(self, patches: Tensor) -> Tensor:
        """Return the patches, each sample normalised by its place in the patch."""
        mean, variance = self.running_mean, self.running_var
        if self.training:
            mean, variance, count = _moments(patches.detach().float())
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * count / (count - 1), self.momentum)
        scaled = (patches - mean) * torch.rsqrt(variance + self.eps)
        return scaled * self.weight + self.bias


def _moments(patches: Tensor) -> tuple[Tensor, Tensor, float]:
    """Return mean and population variance by place in the patch, and how many patches those are."""
    rows = patches.flatten(0, 1)
    sums = torch.cat([rows.sum(0), rows.square().sum(0), rows.new_tensor([len(rows)])])
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(sums)
    count = sums[-1]
    mean, square = (sums[:-1] / count).chunk(2)
    return mean, (square - mean.square()).clamp(min=0), float(count)
