"""Augmentations of TF-C, in time and in frequency.

Draws are made for the global batch on the CPU, so that neither the number of processes nor the
device changes them; each process takes its own rows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.sampling.batch import Batch

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
