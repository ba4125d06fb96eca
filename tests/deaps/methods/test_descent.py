"""All methods, alike: they learn, on any device, in any precision."""

from __future__ import annotations

import pytest
import torch

from deaps.config import ModelSettings
from deaps.method_registry import PAPER_METHODS
from deaps.methods import build_method
from tests.deaps.sampling.made_batches import made_batch


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_twenty_steps_lower_the_loss(name: str, device: torch.device) -> None:
    torch.manual_seed(0)
    method = build_method(name, ModelSettings()).to(device)
    batch = made_batch(method.views, 5, device=device)
    optimiser = torch.optim.Adam([p for p in method.parameters() if p.requires_grad], lr=3e-4)
    losses = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = method(batch)["loss"]
        loss.backward()
        optimiser.step()
        method.after_step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_autocast_gives_float32_losses_near_those_without(name: str, device: torch.device) -> None:
    torch.manual_seed(0)
    method = build_method(name, ModelSettings()).to(device)
    batch = made_batch(method.views, 5, device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        cast = method(batch)["loss"]
    cast.backward()
    assert cast.dtype == torch.float32
    assert cast.item() == pytest.approx(method(batch)["loss"].item(), rel=0.05)


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_terms_are_scalars_without_history_but_for_the_loss(name: str) -> None:
    method = build_method(name, ModelSettings())
    terms = method(made_batch(method.views, 3))
    assert all(term.ndim == 0 for term in terms.values())
    assert {key for key, term in terms.items() if term.requires_grad} == {"loss"}
