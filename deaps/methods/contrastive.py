"""PCLR, CLOCS and Mixing-Up: encoder, one head, a contrastive loss over the gathered batch."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from deaps.config import ModelSettings
from deaps.losses import clocs_loss, mixing_up_loss, nt_xent
from deaps.methods.interface import Method, encode_views
from deaps.models.heads import gather_rows, projector
from deaps.sampling.sampler import Batch, Views


class Contrast(Method):
    """A contrastive method on the encoder, with a head Linear, ReLU, Linear."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        self.settings = settings.contrast
        self.encoder = self.new_encoder(settings)
        self.projector = projector(batch_norm=False)

    def project(self, windows: Tensor) -> tuple[Tensor, ...]:
        """Return projections, (N, 256) for each view, of this process' windows, (n, views, 1000).

        They are of the global batch, N = n * processes.
        """
        representations = gather_rows(encode_views(self.encoder, windows))
        # Without batch norm rows do not see each other: their order in the one call is free.
        return self.projector(representations).unbind(dim=1)


class Pclr(Contrast):
    """Patient Contrastive Learning: NT-Xent over pairs of one subject.

    It "considers two inputs from the same subject but different recordings as positive pairs"
    (the paper).
    """

    deviations = (
        "Other windows of a row's subject are left out of the denominator "
        "(contrast.exclude_same_subject).",
        "Encoder and projector are those of the other methods, not the authors' network.",
    )
    views = Views.PAIR

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``loss``."""
        view1, view2 = self.project(batch.windows)
        exclude = self.settings.exclude_same_subject
        subjects = gather_rows(batch.subjects) if exclude else None
        temperature = self.settings.temperature
        return {"loss": nt_xent(view1, view2, temperature=temperature, subjects=subjects)}


class Clocs(Contrast):
    """Contrastive Learning of Cardiac Signals, over time (CMSC).

    It "utilizes two consecutive ECG time strips as positive pairs" (the paper).
    """

    deviations = (
        "A subject's other pairs are compared along rows and along columns of the matrix. The "
        "authors' code takes those above the diagonal along rows and those below along columns. "
        "Both take the mean of the terms; on one batch they gave 6.936 and 6.923.",
        "Encoder and projector are those of the other methods, not the authors' network.",
    )
    views = Views.ADJACENT

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``loss``."""
        view1, view2 = self.project(batch.windows)
        subjects = gather_rows(batch.subjects)
        return {"loss": clocs_loss(view1, view2, subjects, temperature=self.settings.temperature)}


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
