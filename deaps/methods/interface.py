"""What the training loop knows of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from torch import Tensor, nn

from deaps.sampling.batch import Batch, Views


class Method(nn.Module, ABC):
    """A self-supervised method: what a batch holds, the loss, and what is kept.

    The forward pass is the loss, so that DistributedDataParallel can wrap a method as it is.
    """

    name: ClassVar[str]
    """Name on the command line, in `METHODS` and in the index."""

    deviations: ClassVar[tuple[str, ...]] = ()
    """Where it differs from its reference or settles what that leaves open, a sentence each."""

    views: Views
    """Which windows the sampler draws for each sample; of the class, or of the instance where it
    depends on settings."""

    encoder: nn.Module
    """The part that is kept after training: windows (n, 1000) to representations (n, d)."""

    @abstractmethod
    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return the terms of the loss over the global batch; ``"loss"`` is what is minimised.

        All values are scalars. Terms other than the total are for people to look at and may be
        detached.
        """

    def after_step(self) -> None:
        """Do what follows the optimiser's step, such as moving a teacher."""
