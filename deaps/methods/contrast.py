"""What PCLR, CLOCS and Mixing-Up share: the encoder, one head, and a gathered batch."""

from __future__ import annotations

from torch import Tensor

from deaps.config import ModelSettings
from deaps.methods.interface import Method
from deaps.methods.view_stack import encode_views
from deaps.models.heads import projector
from deaps.training.gather import gather_rows


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
