"""The loss of CLOCS, in its variant over time (CMSC)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from deaps.losses.precision import in_float32


@in_float32
def clocs_loss(view1: Tensor, view2: Tensor, subjects: Tensor, *, temperature: float) -> Tensor:
    """Return the loss, a scalar, of N samples in two views; negatives are across views only.

    Of the N x N matrix of cosines / temperature, view 1 by rows and view 2 by columns, the log
    of the softmax is taken along rows and along columns. The terms are minus the mean of each
    over the diagonal (a window and its neighbour), and minus the mean of each over the
    off-diagonal pairs of one subject. The loss is the mean of the terms, which are two where no
    subject occurs twice, so that batches with and without such pairs are of one scale.

    Parameters
    ----------
    view1, view2
        (N, d): row k of one belongs to row k of the other.
    subjects
        int64 (N,).
    temperature
        Divides the cosines.
    """
    rows1, rows2 = functional.normalize(view1, dim=1), functional.normalize(view2, dim=1)
    similarities = rows1 @ rows2.T / temperature
    # The mean of the two terms of a set of pairs is the mean over the sum of both softmaxes.
    both = 0.5 * (similarities.log_softmax(dim=1) + similarities.log_softmax(dim=0))
    same = subjects.unsqueeze(0) == subjects.unsqueeze(1)
    others = same & ~torch.eye(len(same), dtype=torch.bool, device=same.device)
    # Counted instead of asked for with `if`, which would make an accelerator wait.
    count = others.sum()
    diagonal = -both.diagonal().mean()
    off_diagonal = -(both * others).sum() / count.clamp_min(1)
    return (diagonal + off_diagonal) / (1 + (count > 0))
