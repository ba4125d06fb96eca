"""TF-C: a window and its spectrum are alike, and each is like its own augmentation."""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.config import ModelSettings, TfcSettings
from deaps.losses import tfc_terms
from deaps.methods.interface import Method
from deaps.models.heads import gather_rows
from deaps.models.tfc_model import TfcModel, spectrum
from deaps.sampling.sampler import Batch, Views


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


_BINS = 1000


class Draws:
    """Random numbers of one step, (n, 1000) each: rows ``rank::world`` of the global batch's.

    Parameters
    ----------
    batch
        Gives the seed, the share of rows and the device.
    whole
        Give every process all rows, not only its own.
    """

    def __init__(self, batch: Batch, *, whole: bool = False) -> None:
        self._generator = torch.Generator().manual_seed(batch.seed)
        self._shape = (len(batch.windows) * batch.world, _BINS)
        self._rows = slice(None) if whole else slice(batch.rank, None, batch.world)
        self._device = batch.windows.device

    def normal(self) -> Tensor:
        """Return draws from N(0, 1)."""
        return self._own(torch.randn(self._shape, generator=self._generator))

    def uniform(self) -> Tensor:
        """Return draws from [0, 1)."""
        return self._own(torch.rand(self._shape, generator=self._generator))

    def _own(self, rows: Tensor) -> Tensor:
        return rows[self._rows].to(self._device)


def augment_time(windows: Tensor, draws: Draws, *, jitter: float) -> Tensor:
    """Return windows, (n, 1000), with Gaussian noise of standard deviation ``jitter`` added."""
    return windows + jitter * draws.normal()


def augment_frequency(
    spectra: Tensor, draws: Draws, *, bins_changed: float, raise_by: float
) -> Tensor:
    """Return the sum of two changed copies of spectra, (n, 1000).

    In one each bin is zeroed with probability ``bins_changed``; in the other each is raised with
    that probability, by a uniform share of up to ``raise_by`` of the window's largest bin.
    """
    kept = spectra * (draws.uniform() >= bins_changed)
    raised = draws.uniform() < bins_changed
    most = raise_by * spectra.amax(dim=1, keepdim=True)
    return kept + spectra + raised * draws.uniform() * most
