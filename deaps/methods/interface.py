"""What the training loop knows of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple

import torch
from pydantic import BaseModel
from torch import Tensor, nn

from deaps.config import ModelSettings
from deaps.models.encoder import Encoder, Network
from deaps.sampling.sampler import Batch, Views
from storage.schema import WINDOW_SAMPLES


class EncoderSize(NamedTuple):
    """Features of a representation, and trainable parameters of what makes it."""

    features: int
    parameters: int


class Method(nn.Module, ABC):
    """A self-supervised method: what a batch holds, the loss, and what is kept.

    It is built from `ModelSettings`. The forward pass returns the loss, so that
    DistributedDataParallel can wrap the method. Its name, its label and its number of
    steps are given to `register_method`.
    """

    deviations: ClassVar[tuple[str, ...]] = ()
    """Where it differs from its reference or settles what that leaves open, a sentence each."""

    network: ClassVar[type[Network]] = Encoder
    """Class of `encoder`. An own network overrides `network_settings`, too."""

    views: Views
    """Which windows the sampler draws for each sample; of the class, or of the instance where it
    depends on settings."""

    encoder: Network
    """The part that is kept after training: windows (n, 1000) to representations (n, d)."""

    @abstractmethod
    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return the terms of the loss over the global batch; ``"loss"`` is what is minimised.

        All values are scalars. Terms other than the total are for people to look at and may be
        detached.
        """

    def after_step(self) -> None:
        """Do what follows the optimiser's step, such as moving a teacher."""

    @classmethod
    def network_settings(cls, settings: ModelSettings) -> BaseModel:
        """Return the part of the settings that the network is built from."""
        return settings.encoder

    @classmethod
    def new_encoder(cls, settings: ModelSettings) -> Network:
        """Return the network with fresh weights from torch's global generator."""
        return cls.network(cls.network_settings(settings))

    @classmethod
    def encoder_size(cls, settings: ModelSettings) -> EncoderSize:
        """Return the size of the network, measured on a copy without memory for weights."""
        with torch.device("meta"):
            encoder = cls.new_encoder(settings).eval()
            features = encoder(torch.empty(1, WINDOW_SAMPLES)).shape[1]
        return EncoderSize(features, sum(p.numel() for p in encoder.parameters()))


def encode_views(encoder: Callable[[Tensor], Tensor], windows: Tensor) -> Tensor:
    """Return representations, (n, views, d), of windows, (n, views, 1000)."""
    return encoder(windows.flatten(0, 1)).reshape(*windows.shape[:2], -1)


def stack_views(representations: Tensor, views: Iterable[int]) -> Tensor:
    """Return some views of (n, views, d) one below the other: (number of views * n, d)."""
    return torch.cat([representations[:, view] for view in views])
