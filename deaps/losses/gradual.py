"""The gradual loss of DEAPS: dynamic features of a window lie between those of its neighbours."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from deaps.losses.precision import in_float32
from deaps.losses.static import cosine_distance


class Triplet(NamedTuple):
    """Features of X(t-i), X(t) and X(t+j), each (N, d)."""

    before: Tensor
    middle: Tensor
    after: Tensor

    def masked(self, mask: Tensor) -> Triplet:
        """Return the triplet with zeros outside ``mask``, (N, d)."""
        return Triplet(*(features * mask for features in self))


@in_float32
def par(before: Tensor, after: Tensor, before_s: Tensor, after_s: Tensor) -> Tensor:
    """Return the pondered average representation of X(t), (N, d).

    The paper: "PAR(z(t-i), z(t+j)) = (z(t-i) j + z(t+j) i) / (i + j)", the straight line between
    the two, read at t.

    Parameters
    ----------
    before, after
        (N, d): of X(t-i) and X(t+j).
    before_s, after_s
        (N,): i and j, of any one unit.
    """
    i, j = before_s.unsqueeze(1), after_s.unsqueeze(1)
    return (before * j + after * i) / (i + j)


@torch.no_grad()
def gradual_mask(before: Tensor, after: Tensor, features: int) -> Tensor:
    """Return which features of each sample change most over its triplet, bool (N, d).

    The paper: "(i) It calculates the absolute difference between the values dynamic projections
    of each input pair belonging to the X(t-i) and X(t+j) batches, (ii) the N values that exhibit
    a larger difference are considered". The choice has no gradient.

    Parameters
    ----------
    before, after
        (N, d): of X(t-i) and X(t+j).
    features
        How many are chosen for each sample; at most d.
    """
    chosen = (before.float() - after.float()).abs().topk(features, dim=1, sorted=False).indices
    return torch.zeros_like(before, dtype=torch.bool).scatter_(1, chosen, True)


def gradual_loss(
    predictions: Triplet,
    targets: Triplet,
    before_s: Tensor,
    after_s: Tensor,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """Return the gradual loss, a scalar, of N triplets.

    The algorithm: "0.5 (L_gra(m Q_d(z(t-i)), m zeta(t), m Q_d(z(t+j))) + L_gra(m zeta(t-i),
    m Q_d(z(t)), m zeta(t+j)))", where L_gra is the cosine distance of the middle one from the
    PAR of the others.

    Parameters
    ----------
    predictions
        (N, d) each: the student's.
    targets
        (N, d) each: the teacher's projections.
    before_s, after_s
        (N,): seconds from X(t-i) to X(t), and from X(t) to X(t+j).
    mask
        bool (N, d): features that count; by default all. The others are given no gradient.
    """
    if mask is not None:
        predictions, targets = predictions.masked(mask), targets.masked(mask)
    ends = par(predictions.before, predictions.after, before_s, after_s)
    line = par(targets.before, targets.after, before_s, after_s)
    by_ends = cosine_distance(targets.middle, ends)
    by_middle = cosine_distance(predictions.middle, line)
    return 0.5 * (by_ends + by_middle).mean()
