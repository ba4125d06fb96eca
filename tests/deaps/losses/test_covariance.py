from __future__ import annotations

import pytest
import torch

from deaps.losses import covariance_loss


def reference(rows: list[list[float]]) -> float:
    n, d = len(rows), len(rows[0])
    means = [sum(row[f] for row in rows) / n for f in range(d)]
    total = 0.0
    for i in range(d):
        for j in range(d):
            if i != j:
                products = [(row[i] - means[i]) * (row[j] - means[j]) for row in rows]
                total += (sum(products) / (n - 1)) ** 2
    return total / d


def test_covariance_loss_is_the_formula(device: torch.device) -> None:
    rows = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)) + 3
    loss = covariance_loss(rows.to(device))
    assert loss.item() == pytest.approx(reference(rows.tolist()), rel=1e-5)


def test_whitened_input_has_no_covariance_loss() -> None:
    rows = torch.randn(64, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    basis = torch.linalg.qr(rows - rows.mean(dim=0)).Q
    assert covariance_loss(100 * basis + 5).item() == pytest.approx(0, abs=1e-12)


def test_repeated_feature_is_penalised() -> None:
    column = torch.arange(5.0).unsqueeze(1)
    # Two features of variance 2.5: two entries of 2.5 squared, over two features.
    assert covariance_loss(column.repeat(1, 2)).item() == pytest.approx(2.5**2)
