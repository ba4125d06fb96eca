"""DEAPS written without thought of speed: what the step is compared with."""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.methods.interface import Method
from deaps.models.encoder import Attention, Encoder


class PlainAttention(Attention):
    """Attention as a textbook has it."""

    def forward(self, tokens: Tensor) -> Tensor:
        """Return softmax(Q K^T / sqrt(d)) V, projected."""
        split = self.inputs(tokens).unflatten(-1, (3, self.heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        return self.output((scores.softmax(dim=-1) @ value).transpose(1, 2).flatten(2))


class PlainEncoder(Encoder):
    """One pass for each of a sample's four windows."""

    def forward(self, windows: Tensor) -> Tensor:
        """Return the representations of interleaved views, each view encoded apart."""
        apart = [self.encode(windows[view::4]) for view in range(4)]
        return torch.stack(apart, dim=1).flatten(0, 1)


def make_plain(method: Method) -> Method:
    """Return ``method`` with plain attention, four passes, and a loop to move the teacher."""
    for module in method.modules():
        if isinstance(module, Encoder):
            module.__class__ = PlainEncoder
        elif isinstance(module, Attention):
            module.__class__ = PlainAttention
    method.after_step = lambda: follow(method)  # type: ignore[method-assign]
    return method


@torch.no_grad()
def follow(method: Method) -> None:
    """Move the teacher, one parameter after the other."""
    teacher = dict(method.teacher.named_parameters())  # type: ignore[union-attr, operator]
    for name, own in teacher.items():
        own.mul_(0.995).add_(0.005 * method.get_parameter(name))
