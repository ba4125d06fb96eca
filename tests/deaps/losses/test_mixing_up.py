from __future__ import annotations

import math

import pytest
import torch

from deaps.losses import mixing_up_loss
from tests.deaps.losses.reference import cosine, cross_entropy, mean

MIXTURE, VIEW1, VIEW2 = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(0))


def reference(share: float, temperature: float) -> float:
    candidates = VIEW1.tolist() + VIEW2.tolist()
    losses = []
    for n, row in enumerate(MIXTURE.tolist()):
        logits = [cosine(row, candidate) / temperature for candidate in candidates]
        targets = [0.0] * 10
        targets[n], targets[5 + n] = share, 1 - share
        losses.append(cross_entropy(logits, targets))
    return mean(losses)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_mixing_up_loss_is_the_formula(share: float, device: torch.device) -> None:
    views = (rows.to(device) for rows in (MIXTURE, VIEW1, VIEW2))
    loss = mixing_up_loss(*views, share=share, temperature=0.5)
    assert loss.item() == pytest.approx(reference(share, 0.5), rel=1e-5)


def test_loss_is_the_targets_entropy_where_similarities_tell_the_shares() -> None:
    # One sample, cosines such that the softmax is (0.8, 0.2): nothing but the entropy is left.
    lead = 0.5 * math.log(4)
    view2 = torch.tensor([[1 - lead, math.sqrt(1 - (1 - lead) ** 2)]])
    loss = mixing_up_loss(
        torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0]]), view2, share=0.8, temperature=0.5
    )
    entropy = -(0.8 * math.log(0.8) + 0.2 * math.log(0.2))
    assert loss.item() == pytest.approx(entropy, rel=1e-5)
