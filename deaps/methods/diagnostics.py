"""What DEAPS's losses really use, measured beside them while it trains; nothing is minimised."""

from __future__ import annotations

import torch
from torch import Tensor

from deaps.losses.gradual import Triplet, gradual_loss


@torch.no_grad()
def gradual_probes(
    predictions: Triplet,
    targets: Triplet,
    before_s: Tensor,
    after_s: Tensor,
    *,
    mask: Tensor | None,
) -> dict[str, Tensor]:
    """Return the gradual loss of spoiled triplets; each tells what the loss would not notice.

    ``gradual_swapped``: i and j exchanged. Equal to the loss, time within the triplet is unused.
    ``gradual_first``: X(t-i) in the middle. Equal to the loss, the middle adds nothing.
    ``gradual_stranger``: the middle of another sample. Far above the loss, the subject is used.
    """
    strangers = [Triplet(t.before, t.middle.roll(1, 0), t.after) for t in (predictions, targets)]
    firsts = [Triplet(t.before, t.before, t.after) for t in (predictions, targets)]
    return {
        "gradual_swapped": gradual_loss(predictions, targets, after_s, before_s, mask=mask),
        "gradual_first": gradual_loss(firsts[0], firsts[1], before_s, after_s, mask=mask),
        "gradual_stranger": gradual_loss(strangers[0], strangers[1], before_s, after_s, mask=mask),
    }


@torch.no_grad()
def projection_spread(projections: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean variance of features, and the root mean square of their correlations.

    The covariance loss falls with either: shrinking the projections is the cheap way.
    """
    projections = projections.float()
    centred = projections - projections.mean(dim=0)
    variance = centred.square().sum(dim=0) / (len(projections) - 1)
    scaled = centred / variance.clamp(min=1e-12).sqrt()
    correlation = scaled.T @ scaled / (len(projections) - 1)
    features = len(correlation)
    off_diagonal = correlation.square().sum() - correlation.diagonal().square().sum()
    return variance.mean(), (off_diagonal / (features * (features - 1))).sqrt()
