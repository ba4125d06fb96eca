from __future__ import annotations

import pytest
import torch

from deaps.losses import clocs_loss, covariance_loss, nt_xent

A, B = torch.randn(2, 8, 16, generator=torch.Generator().manual_seed(0)).bfloat16()


@pytest.mark.parametrize(
    "loss",
    [
        lambda a, b: covariance_loss(a),
        lambda a, b: nt_xent(a, b, temperature=0.1),
        lambda a, b: clocs_loss(a, b, torch.arange(8, device=a.device), temperature=0.1),
    ],
)
def test_losses_are_float32_under_autocast(loss, device: torch.device) -> None:  # type: ignore[no-untyped-def]
    a, b = A.to(device), B.to(device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        computed = loss(a, b)
    assert computed.dtype == torch.float32
    torch.testing.assert_close(computed, loss(a.float(), b.float()))


def test_doubles_stay_doubles() -> None:
    assert covariance_loss(A.double()).dtype == torch.float64
