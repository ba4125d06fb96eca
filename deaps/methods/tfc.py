"""TF-C: a window and its spectrum are alike, and each is like its own augmentation."""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.config import ModelSettings, TfcSettings
from deaps.losses.tfc import tfc_terms
from deaps.methods.interface import Method
from deaps.methods.tfc_augmentation import Draws, augment_frequency, augment_time
from deaps.models.tfc_model import TfcModel, spectrum
from deaps.sampling.batch import Batch, Views
from deaps.training.gather import gather_rows


class Tfc(Method):
    """Time-Frequency Consistency, on its own model.

    It "produces two variations of the time-domain and frequency-domain pairs associated with
    the input signal" (the paper). The model with its projectors is what is kept.
    """

    deviations = (
        "Attention stays within a window, so that a representation does not depend on its "
        "neighbours; the public code lets it run across the batch (tfc.attention).",
        "No dropout: random drops would differ with the number of processes.",
        "The augmented spectrum is the sum of a thinned and a raised one.",
        "A bin is raised by a share of its window's largest one; the public code takes the largest "
        "of the whole array.",
        "The loss is NT-Xent alone; the public code adds a poly term to it.",
        "The rate is that of the settings (training.learning_rate); the public code has 3e-6.",
    )
    network = TfcModel
    views = Views.SINGLE
    encoder: TfcModel

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        self.settings = settings.tfc
        self.encoder = TfcModel(settings.tfc)

    @classmethod
    def network_settings(cls, settings: ModelSettings) -> TfcSettings:
        """Return TF-C's own settings."""
        return settings.tfc

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return ``loss`` and its terms ``time``, ``frequency`` (unweighted) and ``between``."""
        time, time_augmented, frequency, frequency_augmented = self._encode(batch)
        terms = tfc_terms(
            (time, time_augmented),
            (frequency, frequency_augmented),
            (self.encoder.time_projector(time), self.encoder.frequency_projector(frequency)),
            temperature=self.settings.temperature,
        )
        detached = {name: term.detach() for name, term in terms._asdict().items()}
        return {"loss": terms.total(self.settings.within_weight)} | detached

    def _encode(self, batch: Batch) -> tuple[Tensor, ...]:
        """Return h_t, augmented h_t, h_f and augmented h_f of the global batch, (N, 1000) each.

        Where attention runs across the batch, it must be the global one: every process then
        encodes all of it.
        """
        across = self.encoder.across_batch
        windows = batch.windows[:, 0]
        windows = gather_rows(windows) if across else windows
        encoded = self._encode_augmented(windows, Draws(batch, whole=across))
        return encoded.unbind(1) if across else gather_rows(encoded).unbind(1)

    def _encode_augmented(self, windows: Tensor, draws: Draws) -> Tensor:
        """Return the four encoder outputs of windows, (n, 1000), as (n, 4, 1000)."""
        spectra = spectrum(windows)
        time = augment_time(windows, draws, jitter=self.settings.jitter)
        frequency = augment_frequency(
            spectra,
            draws,
            bins_changed=self.settings.bins_changed,
            raise_by=self.settings.raise_by,
        )
        by_time = [self.encoder.time_encoder(rows) for rows in (windows, time)]
        by_frequency = [self.encoder.frequency_encoder(rows) for rows in (spectra, frequency)]
        return torch.stack([*by_time, *by_frequency], dim=1)
