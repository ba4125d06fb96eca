"""BYOL: the part of DEAPS that DEAPS builds on."""

from __future__ import annotations

from deaps.config import ModelSettings
from deaps.methods.deaps import Deaps


class Byol(Deaps):
    """Bootstrap Your Own Latent on pairs of one subject: the static loss alone.

    "The loss function only measures the similarities between the student/teacher output pairs."
    The teacher's settings are those of DEAPS; what DEAPS adds is always off.
    """

    deviations = (
        "Pairs are windows of two visits, without augmentations, as in the paper's baseline.",
    )

    def __init__(self, settings: ModelSettings) -> None:
        plain = settings.deaps.model_copy(update={"gradual": False, "covariance_weight": 0.0})
        super().__init__(settings.model_copy(update={"deaps": plain}))
