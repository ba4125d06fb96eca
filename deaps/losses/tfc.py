"""The loss of TF-C: consistency within time, within frequency, and between them."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from deaps.losses.nt_xent import nt_xent


class TfcTerms(NamedTuple):
    """The three scalars of the loss."""

    time: Tensor
    frequency: Tensor
    between: Tensor

    def total(self, within_weight: float) -> Tensor:
        """Return w (L_t + L_f) + L_TF."""
        return within_weight * (self.time + self.frequency) + self.between


def tfc_terms(
    time: tuple[Tensor, Tensor],
    frequency: tuple[Tensor, Tensor],
    between: tuple[Tensor, Tensor],
    *,
    temperature: float,
) -> TfcTerms:
    """Return L_t, L_f and L_TF, each the NT-Xent of a pair of views of N windows.

    Parameters
    ----------
    time, frequency
        (N, 1000) each: encoder outputs of a window (or spectrum) and of its augmentation.
    between
        (N, 128) each: projections of time and of frequency.
    temperature
        Of NT-Xent.
    """
    return TfcTerms(
        *(nt_xent(*pair, temperature=temperature) for pair in (time, frequency, between))
    )
