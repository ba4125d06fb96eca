"""The similarity loss of BYOL, which is the static loss of DEAPS."""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.losses.precision import in_float32

EPSILON = 1e-8


@in_float32
def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """Return 1 - cos(a, b) of each pair of rows: (n, d), (n, d) to (n,).

    The paper's equation of L_sim: 1 - a.b / max(|a| |b|, epsilon). The floor is under the
    product of the norms; torch's own function has one under each.
    """
    norms = torch.linalg.vector_norm(a, dim=1) * torch.linalg.vector_norm(b, dim=1)
    return 1 - (a * b).sum(dim=1) / norms.clamp_min(EPSILON)


def static_loss(
    prediction1: Tensor, prediction2: Tensor, target1: Tensor, target2: Tensor
) -> Tensor:
    """Return the static loss, a scalar, of two sides of N samples.

    The algorithm: "0.5 (L_sim(Q_s(z1), zeta2) + L_sim(Q_s(z2), zeta1))".

    Parameters
    ----------
    prediction1, prediction2
        (N, d): the student's predictions.
    target1, target2
        (N, d): the teacher's projections.
    """
    there = cosine_distance(prediction1, target2)
    back = cosine_distance(prediction2, target1)
    return 0.5 * (there + back).mean()
