from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deaps.losses import Triplet, gradual_loss, gradual_mask, interpolate
from tests.deaps.losses.reference import Vector, cosine, mean

N, D, K = 5, 12, 4
BEFORE = torch.tensor([10.0, 20.0, 60.0, 70.0, 110.0])
AFTER = 120 - BEFORE


def made(seed: int) -> Triplet:
    return Triplet(*torch.randn(3, N, D, generator=torch.Generator().manual_seed(seed)))


def reference_par(a: Vector, b: Vector, i: float, j: float) -> Vector:
    return [(j * x + i * y) / (i + j) for x, y in zip(a, b, strict=True)]


def reference_mask(a: Vector, b: Vector, k: int) -> list[int]:
    largest = sorted(range(len(a)), key=lambda f: abs(a[f] - b[f]), reverse=True)[:k]
    return [int(f in largest) for f in range(len(a))]


def reference_loss(
    predictions: Triplet,
    targets: Triplet,
    features: int,
    before_s: Tensor = BEFORE,
    after_s: Tensor = AFTER,
) -> float:
    losses = []
    for n in range(len(before_s)):
        mask = reference_mask(
            predictions.before[n].tolist(), predictions.after[n].tolist(), features
        )
        rows = [
            [m * x for m, x in zip(mask, part[n].tolist(), strict=True)]
            for part in (*predictions, *targets)
        ]
        q_before, q_middle, q_after, t_before, t_middle, t_after = rows
        i, j = before_s[n].item(), after_s[n].item()
        first = 1 - cosine(t_middle, reference_par(q_before, q_after, i, j))
        second = 1 - cosine(q_middle, reference_par(t_before, t_after, i, j))
        losses.append(0.5 * first + 0.5 * second)
    return mean(losses)


def moved(triplet: Triplet, device: torch.device) -> Triplet:
    return Triplet(*(part.to(device) for part in triplet))


@pytest.mark.parametrize("features", [1, K, D])
def test_gradual_loss_is_the_formula(features: int, device: torch.device) -> None:
    predictions, targets = moved(made(0), device), moved(made(1), device)
    mask = gradual_mask(predictions.before, predictions.after, features)
    loss = gradual_loss(predictions, targets, BEFORE.to(device), AFTER.to(device), mask=mask)
    assert loss.item() == pytest.approx(reference_loss(made(0), made(1), features), abs=1e-6)


def test_no_mask_is_a_mask_of_all_features() -> None:
    loss = gradual_loss(made(0), made(1), BEFORE, AFTER)
    assert loss.item() == pytest.approx(reference_loss(made(0), made(1), D), abs=1e-6)


def test_par_is_nearer_to_the_nearer_end() -> None:
    middle = interpolate(
        torch.zeros(1, 3), torch.full((1, 3), 12.0), torch.tensor([20.0]), torch.tensor([100.0])
    )
    assert middle.tolist() == [[2, 2, 2]]


def test_loss_is_zero_on_a_straight_line() -> None:
    start, slope = torch.randn(2, N, D, generator=torch.Generator().manual_seed(2))
    middle, after = (start + seconds[:, None] * slope for seconds in (BEFORE, BEFORE + AFTER))
    line = Triplet(start, middle, after)
    mask = gradual_mask(line.before, line.after, K)
    assert gradual_loss(line, line, BEFORE, AFTER, mask=mask).item() == pytest.approx(0, abs=1e-6)


def test_mask_holds_the_features_that_change_most_of_each_sample() -> None:
    before, _, after = made(3)
    mask = gradual_mask(before, after, K)
    expected = [reference_mask(before[n].tolist(), after[n].tolist(), K) for n in range(N)]
    assert mask.int().tolist() == expected
    assert mask.sum(dim=1).tolist() == [K] * N


def test_mask_has_no_gradient() -> None:
    before = torch.randn(N, D, requires_grad=True)
    assert not gradual_mask(before, torch.randn(N, D), K).requires_grad


def test_masked_features_get_exactly_no_gradient() -> None:
    predictions = Triplet(*(part.requires_grad_() for part in made(0)))
    mask = gradual_mask(predictions.before, predictions.after, K)
    gradual_loss(predictions, made(1), BEFORE, AFTER, mask=mask).backward()
    for part in predictions:
        assert (gradient_of(part)[~mask] == 0).all()
        assert (gradient_of(part)[mask] != 0).all()


def gradient_of(tensor: Tensor) -> Tensor:
    assert tensor.grad is not None
    return tensor.grad
