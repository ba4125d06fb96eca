"""The covariance loss, which keeps features from repeating each other."""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.losses.precision import in_float32


@in_float32
def covariance_loss(projections: Tensor) -> Tensor:
    """Return the covariance loss, a scalar, of projections, (rows, d).

    The paper: "L_c = 1/d sum over i != j of C(z)_ij^2, where C is the covariance matrix computed
    on the student projection". The divisor of C is rows - 1, as in VICReg.
    """
    rows, features = projections.shape
    centred = projections - projections.mean(dim=0)
    covariance = centred.T @ centred / (rows - 1)
    diagonal = torch.eye(features, dtype=torch.bool, device=projections.device)
    # Taken out before squaring: the difference of two large sums would lose small ones.
    return covariance.masked_fill(diagonal, 0).square().sum() / features
