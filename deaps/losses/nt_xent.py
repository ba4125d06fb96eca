"""The normalised, temperature-scaled cross entropy of contrastive methods."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from deaps.losses.precision import in_float32


@in_float32
def nt_xent(
    view1: Tensor, view2: Tensor, *, temperature: float, subjects: Tensor | None = None
) -> Tensor:
    """Return NT-Xent, a scalar, of N samples in two views.

    Each of the 2N rows is to find its other view among all other rows: the mean over rows r of
    -log(exp(s(r, p) / T) / sum over k != r of exp(s(r, k) / T)), s the cosine, p the other view,
    so that there are 2N - 2 negatives.

    Parameters
    ----------
    view1, view2
        (N, d): row k of one belongs to row k of the other.
    temperature
        T.
    subjects
        int64 (N,): where given, rows of the same subject other than the row's other view are
        left out of the denominator, being no negatives.
    """
    rows = functional.normalize(torch.cat([view1, view2]), dim=1)
    positives = torch.arange(len(rows), device=rows.device).roll(len(view1))
    similarities = rows @ rows.T / temperature
    left_out = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
    if subjects is not None:
        left_out = left_out | _same_subject(subjects, positives)
    return functional.cross_entropy(similarities.masked_fill(left_out, -torch.inf), positives)


def _same_subject(subjects: Tensor, positives: Tensor) -> Tensor:
    """Return which pairs of rows are of one subject but no positive pair, bool (2N, 2N)."""
    doubled = subjects.repeat(2)
    same = doubled.unsqueeze(0) == doubled.unsqueeze(1)
    return same.scatter(1, positives.unsqueeze(1), False)
