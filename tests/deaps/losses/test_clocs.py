from __future__ import annotations

import math

import pytest
import torch

from deaps.losses import clocs_loss
from tests.deaps.losses.reference import Vector, cosine, mean

VIEW1, VIEW2 = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))


def reference(view1: list[Vector], view2: list[Vector], subjects: list[int], t: float) -> float:
    n = len(view1)
    e = [[math.exp(cosine(view1[r], view2[c]) / t) for c in range(n)] for r in range(n)]
    pairs = [(r, c) for r in range(n) for c in range(n) if subjects[r] == subjects[c]]
    terms = []
    for chosen in ([(r, c) for r, c in pairs if r == c], [(r, c) for r, c in pairs if r != c]):
        if chosen:
            terms.append(mean([-math.log(e[r][c] / sum(e[r])) for r, c in chosen]))
            terms.append(mean([-math.log(e[r][c] / sum(row[c] for row in e)) for r, c in chosen]))
    return mean(terms)


@pytest.mark.parametrize("subjects", [[0, 1, 2, 3, 4], [0, 1, 0, 2, 0], [7, 7, 7, 7, 7]])
def test_clocs_loss_is_the_formula(subjects: list[int], device: torch.device) -> None:
    loss = clocs_loss(
        VIEW1.to(device), VIEW2.to(device), torch.tensor(subjects, device=device), temperature=0.1
    )
    expected = reference(VIEW1.tolist(), VIEW2.tolist(), subjects, 0.1)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_without_repeated_subjects_loss_and_gradient_are_finite() -> None:
    view1 = VIEW1.clone().requires_grad_()
    loss = clocs_loss(view1, VIEW2, torch.arange(5), temperature=0.1)
    loss.backward()
    assert loss.isfinite()
    assert view1.grad is not None
    assert view1.grad.isfinite().all()
