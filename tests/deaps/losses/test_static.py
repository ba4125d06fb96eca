from __future__ import annotations

import pytest
import torch

from deaps.losses import cosine_distance, static_loss
from tests.deaps.losses.reference import cosine, mean


def test_static_loss_is_the_formula(device: torch.device) -> None:
    q1, q2, t1, t2 = torch.randn(4, 5, 6, generator=torch.Generator().manual_seed(0))
    expected = mean(
        [
            0.5 * (1 - cosine(q1[k].tolist(), t2[k].tolist()))
            + 0.5 * (1 - cosine(q2[k].tolist(), t1[k].tolist()))
            for k in range(5)
        ]
    )
    loss = static_loss(*(rows.to(device) for rows in (q1, q2, t1, t2)))
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_distance_runs_from_zero_to_two() -> None:
    a = torch.tensor([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    b = torch.tensor([[5.0, 0.0], [0.0, 4.0], [-1.0, 0.0]])
    assert cosine_distance(a, b).tolist() == [0, 1, 2]


def test_zero_vectors_have_distance_one_and_finite_gradient() -> None:
    zero = torch.zeros(2, 4, requires_grad=True)
    distance = cosine_distance(zero, torch.ones(2, 4))
    distance.sum().backward()
    assert distance.tolist() == [1, 1]
    assert zero.grad is not None
    assert zero.grad.isfinite().all()


def test_lengths_do_not_matter() -> None:
    a, b = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(cosine_distance(a, b), cosine_distance(30 * a, 0.01 * b))
