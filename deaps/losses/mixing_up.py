"""The loss of Mixing-Up: the shares of two windows can be read from their mixture."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from deaps.losses.precision import in_float32


@in_float32
def mixing_up_loss(
    mixture: Tensor, view1: Tensor, view2: Tensor, *, share: float, temperature: float
) -> Tensor:
    """Return the loss, a scalar, of N mixtures of two windows each.

    The cross entropy between the softmax over the 2N cosines / temperature of a mixture with
    all first and all second windows, and soft targets: ``share`` at its own first window,
    1 - ``share`` at its own second.

    Parameters
    ----------
    mixture, view1, view2
        (N, d): projections of share * x1 + (1 - share) * x2, of x1 and of x2.
    share
        Of the first window, in [0, 1]: the lambda of the batch.
    temperature
        Divides the cosines.
    """
    rows = functional.normalize(mixture, dim=1)
    candidates = functional.normalize(torch.cat([view1, view2]), dim=1)
    logs = (rows @ candidates.T / temperature).log_softmax(dim=1)
    own1, own2 = logs.diagonal(), logs.diagonal(offset=len(rows))
    return -(share * own1 + (1 - share) * own2).mean()
