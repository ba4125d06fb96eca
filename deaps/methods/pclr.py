"""PCLR: two visits of a subject are alike, and unlike all other subjects."""

from __future__ import annotations

from torch import Tensor

from deaps.losses.nt_xent import nt_xent
from deaps.methods.contrast import Contrast
from deaps.sampling.batch import Batch, Views
from deaps.training.gather import gather_rows


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
