"""Mixing-Up: a mixture of two windows is like both, each by its share."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from deaps.config import ModelSettings
from deaps.losses.mixing_up import mixing_up_loss
from deaps.methods.contrast import Contrast
from deaps.sampling.batch import Batch, Views


class MixingUp(Contrast):
    """Contrastive learning with mixtures as augmentation.

    The partner is another sample of the batch, as in the authors' code; the paper's sentence ("a
    product of two time series from the same subject") is ``mixing_partner = "subject"``.
    """

    deviations = (
        "The partner of a window comes from the batch, as in its authors' code; the DEAPS "
        "paper says from the same subject (contrast.mixing_partner).",
        "Encoder and projector are those of the other methods, not the authors' network. The "
        "projector of the authors' notebook has batch normalisation; here it has none.",
    )

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        of_subject = self.settings.mixing_partner == "subject"
        self.views = Views.PAIR if of_subject else Views.PARTNER

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``loss``, and the ``share`` of the first windows in this batch's mixtures."""
        share = mixing_share(self.settings.mixing_alpha, batch.seed)
        first, second = batch.windows.unbind(dim=1)
        mixed = share * first + (1 - share) * second
        projections = self.project(torch.stack([mixed, first, second], dim=1))
        temperature = self.settings.mixing_temperature
        loss = mixing_up_loss(*projections, share=share, temperature=temperature)
        return {"loss": loss, "share": loss.new_tensor(share)}


def mixing_share(alpha: float, seed: int) -> float:
    """Return the lambda of one batch, from Beta(alpha, alpha): the same in every process."""
    return float(np.random.default_rng(seed).beta(alpha, alpha))
