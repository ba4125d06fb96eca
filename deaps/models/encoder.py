"""What a method keeps after training: a network that is built from its settings alone."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
import torch.distributed as dist
from pydantic import BaseModel
from torch import Tensor, nn
from torch.nn import functional

from deaps.config import EncoderSettings


class Network(nn.Module):
    """Windows, float (n, 1000), to representations, (n, d).

    Its file holds weights and settings, so that it is loaded without the method that trained it.
    """

    architecture: ClassVar[str]
    """What encoder files call it."""

    settings_type: ClassVar[type[BaseModel]]
    """Model of the settings that it is built from."""

    settings: BaseModel


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


WINDOW = 1000
PATCH = 20
TOKENS = WINDOW // PATCH
WIDTH = 128
BLOCKS = 6
HEADS = 4
HIDDEN = 4 * WIDTH
_CPU_CHUNK = 64


class Attention(nn.Module):
    """Self-attention with biases on queries, keys, values and output: (n, tokens, width)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return what each token takes from all tokens of its window, same shape."""
        split = self.inputs(tokens).unflatten(-1, (3, self.heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = attend(query, key, value)
        return self.output(mixed.transpose(1, 2).flatten(2))


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Return softmax(Q K^T / sqrt(d)) V for each window and head, (n, heads, tokens, d)."""
    if query.device.type == "cpu":
        # With 50 tokens the fused kernel saves no memory worth the name on a CPU, and is slower.
        scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
        return scores.softmax(dim=-1) @ value
    return functional.scaled_dot_product_attention(query, key, value)


class Block(nn.Module):
    """A pre-norm transformer block: attention, then a two-layer perceptron, both residual."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = Attention(WIDTH, HEADS)
        self.perceptron_norm = nn.LayerNorm(WIDTH)
        self.perceptron = nn.Sequential(
            nn.Linear(WIDTH, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, WIDTH)
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """Return tokens of the same shape, (n, 50, 128)."""
        tokens = tokens + self.attention(self.attention_norm(tokens))
        return tokens + self.perceptron(self.perceptron_norm(tokens))


class Encoder(Network):
    """Windows, float (n, 1000), to representations, (n, 128).

    Windows do not see each other, but for the batch norm of patches while it trains; so encoding
    them in chunks behind that norm changes nothing but speed and memory.
    """

    architecture = "encoder"
    settings_type = EncoderSettings
    positions: Tensor

    def __init__(self, settings: EncoderSettings | None = None) -> None:
        super().__init__()
        self.settings = settings = settings or EncoderSettings()
        after_embedding = settings.norm == "embedding"
        self.chunk = settings.chunk
        self.embedding = nn.Sequential(
            nn.LayerNorm(PATCH) if settings.patch_norm == "layer" else PatchBatchNorm(PATCH),
            nn.Linear(PATCH, WIDTH),
            nn.LayerNorm(WIDTH) if after_embedding else nn.Identity(),
        )
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm = nn.Identity() if after_embedding else nn.LayerNorm(WIDTH)
        self.register_buffer("positions", sine_cosine_positions(TOKENS, WIDTH), persistent=False)
        self._initialise(settings.initial)

    def forward(self, windows: Tensor) -> Tensor:
        """Return the mean over each window's 50 tokens, (n, 128)."""
        if windows.ndim != 2 or windows.shape[1] != WINDOW:
            raise ValueError(f"expected windows of shape (n, {WINDOW}), got {tuple(windows.shape)}")
        size = self.chunk or (_CPU_CHUNK if windows.device.type == "cpu" else len(windows))
        patches = self._normalised_patches(windows)
        if len(windows) <= size:
            return self._encode(patches)
        starts = range(0, len(windows), size)
        return torch.cat([self._encode(patches[start : start + size]) for start in starts])

    def encode(self, windows: Tensor) -> Tensor:
        """Return the representations of all windows at once, whatever the chunk."""
        return self._encode(self._normalised_patches(windows))

    def _normalised_patches(self, windows: Tensor) -> Tensor:
        """Return patches, (n, 50, 20), of all windows: batch statistics know no chunks."""
        patches: Tensor = self.embedding[0](windows.reshape(-1, TOKENS, PATCH))
        return patches

    def _encode(self, patches: Tensor) -> Tensor:
        tokens = self.embedding[1:](patches) + self.positions
        return self.norm(self.blocks(tokens)).mean(dim=1)

    def _initialise(self, initial: str) -> None:
        if initial == "torch":
            return
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear):
                if initial == "xavier":
                    nn.init.xavier_uniform_(module.weight)
                else:
                    # Patches enter normalised: this makes their tokens as large as the positions
                    # they are added to, also where no norm follows the linear layer.
                    std = PATCH**-0.5 if name.startswith("embedding") else 0.02
                    nn.init.trunc_normal_(module.weight, std=std, a=-2 * std, b=2 * std)
                nn.init.zeros_(module.bias)


def sine_cosine_positions(tokens: int, width: int) -> Tensor:
    """Return fixed positions, (tokens, width): sines, then cosines, of falling frequency.

    Frequencies fall geometrically from 1 to 1/10,000 radians a token.
    """
    frequencies = torch.exp(torch.linspace(0, -math.log(10_000), width // 2))
    angles = torch.arange(tokens).unsqueeze(1) * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)
