"""CLOCS: a window and the one after it are alike."""

from __future__ import annotations

from torch import Tensor

from deaps.losses.clocs import clocs_loss
from deaps.methods.contrast import Contrast
from deaps.sampling.batch import Batch, Views
from deaps.training.gather import gather_rows


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
