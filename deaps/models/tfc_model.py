"""The model of TF-C: one transformer on the samples of a window, one on its spectrum.

"Their proposed model has been used, since it requires the use of two encoders instead of one"
(the paper): 32,623,328 parameters. Layers are those of torch's `TransformerEncoderLayer` at its
defaults (post-norm, ReLU) but for dropout, which is off: its draws would differ from one number
of processes to another. They are written out because a sequence of one token needs neither
queries nor keys.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from deaps.config import TfcSettings
from deaps.models.encoder import Network
from deaps.models.heads import head

WIDTH = 1000
LAYERS = 2
HEADS = 2
FEED_FORWARD = 2000
HIDDEN = 256
PROJECTION = 128


class TfcViews(NamedTuple):
    """What the model makes of n windows."""

    time: Tensor
    """h_t, (n, 1000)."""

    time_projection: Tensor
    """z_t, (n, 128)."""

    frequency: Tensor
    """h_f, (n, 1000)."""

    frequency_projection: Tensor
    """z_f, (n, 128)."""


class TfcAttention(nn.Module):
    """Self-attention of rows, (n, 1000), each a token as wide as a window.

    Within a window the sequence is this one token, its softmax is 1, and attention is its value;
    the weights of queries and keys are then given a gradient of zero. Across the batch the n
    rows are the sequence.
    """

    def __init__(self, *, across_batch: bool) -> None:
        super().__init__()
        self.across_batch = across_batch
        self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        nn.init.xavier_uniform_(self.inputs.weight)
        nn.init.zeros_(self.inputs.bias)
        nn.init.zeros_(self.output.bias)

    def forward(self, rows: Tensor) -> Tensor:
        """Return rows of the same shape, (n, 1000)."""
        return self.output(self._across(rows) if self.across_batch else self._value(rows))

    def _value(self, rows: Tensor) -> Tensor:
        """Return the values alone; queries and keys would be two thirds of the work."""
        weight, bias = self.inputs.weight[2 * WIDTH :], self.inputs.bias[2 * WIDTH :]
        return functional.linear(rows, weight, bias)

    def _across(self, rows: Tensor) -> Tensor:
        split = self.inputs(rows).unflatten(1, (3, HEADS, -1))
        query, key, value = split.permute(1, 2, 0, 3)
        mixed = functional.scaled_dot_product_attention(query[None], key[None], value[None])
        return mixed[0].transpose(0, 1).flatten(1)


class TfcLayer(nn.Module):
    """A post-norm transformer layer on rows, (n, 1000)."""

    def __init__(self, *, across_batch: bool) -> None:
        super().__init__()
        self.attention = TfcAttention(across_batch=across_batch)
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, FEED_FORWARD), nn.ReLU(), nn.Linear(FEED_FORWARD, WIDTH)
        )
        self.feed_forward_norm = nn.LayerNorm(WIDTH)

    def forward(self, rows: Tensor) -> Tensor:
        """Return rows of the same shape, (n, 1000)."""
        rows = self.attention_norm(rows + self.attention(rows))
        return self.feed_forward_norm(rows + self.feed_forward(rows))


class TfcModel(Network):
    """Windows, float (n, 1000), to [z_t, z_f], (n, 256), of time and frequency."""

    architecture = "tfc"
    settings_type = TfcSettings

    def __init__(self, settings: TfcSettings | None = None) -> None:
        super().__init__()
        self.settings = settings = settings or TfcSettings()
        self.across_batch = settings.attention == "batch"
        self.time_encoder = _transformer(across_batch=self.across_batch)
        self.frequency_encoder = _transformer(across_batch=self.across_batch)
        self.time_projector = head(WIDTH, HIDDEN, PROJECTION)
        self.frequency_projector = head(WIDTH, HIDDEN, PROJECTION)

    def forward(self, windows: Tensor) -> Tensor:
        """Return the projections that are evaluated, (n, 256)."""
        views = self.both(windows)
        return torch.cat([views.time_projection, views.frequency_projection], dim=1)

    def both(self, windows: Tensor) -> TfcViews:
        """Return encoder outputs and projections of time and of frequency."""
        time = self.time_encoder(windows)
        frequency = self.frequency_encoder(spectrum(windows))
        return TfcViews(
            time, self.time_projector(time), frequency, self.frequency_projector(frequency)
        )


def spectrum(windows: Tensor) -> Tensor:
    """Return the frequency view, (n, 1000): the magnitude of the discrete Fourier transform.

    All 1000 bins, though those above the 500th mirror those below it: the two encoders are of
    one size.
    """
    # Half precision knows only lengths that are powers of two.
    return torch.fft.fft(windows.float()).abs()


def _transformer(*, across_batch: bool) -> nn.Sequential:
    return nn.Sequential(*(TfcLayer(across_batch=across_batch) for _ in range(LAYERS)))
