from __future__ import annotations

from typing import Literal

import pytest
import torch

from deaps.config import EncoderSettings
from deaps.models.encoder import Encoder, attend, sine_cosine_positions

WINDOWS = torch.randn(7, 1000, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("norm", ["embedding", "final"])
def test_parameter_count_is_the_papers(norm: Literal["embedding", "final"]) -> None:
    encoder = Encoder(EncoderSettings(norm=norm))
    assert sum(p.numel() for p in encoder.parameters() if p.requires_grad) == 1_192_616


def test_a_window_becomes_128_features(device: torch.device) -> None:
    assert Encoder().to(device)(WINDOWS.to(device)).shape == (7, 128)


@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
def test_chunks_change_nothing(chunk: int, device: torch.device) -> None:
    whole, chunked = (Encoder(EncoderSettings(chunk=size)).to(device) for size in (7, chunk))
    chunked.load_state_dict(whole.state_dict())
    windows = WINDOWS.to(device)
    torch.testing.assert_close(chunked(windows), whole(windows), atol=1e-6, rtol=0)


def test_a_representation_does_not_depend_on_its_neighbours() -> None:
    encoder = Encoder()
    torch.testing.assert_close(encoder(WINDOWS[2:3])[0], encoder(WINDOWS)[2], atol=1e-6, rtol=0)


def test_order_of_patches_matters() -> None:
    encoder = Encoder()
    shuffled = WINDOWS.reshape(7, 50, 20).flip(1).reshape(7, 1000)
    assert (encoder(shuffled) - encoder(WINDOWS)).abs().max() > 1e-3


def test_every_parameter_gets_a_gradient() -> None:
    encoder = Encoder()
    encoder(WINDOWS)[:, 0].sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_positions_are_neither_trained_nor_stored() -> None:
    assert "positions" not in Encoder().state_dict()
    assert sine_cosine_positions(50, 128)[0].tolist() == [0] * 64 + [1] * 64


def test_seed_decides_the_weights() -> None:
    torch.manual_seed(5)
    first = Encoder()(WINDOWS)
    torch.manual_seed(5)
    assert torch.equal(Encoder()(WINDOWS), first)


def test_wrong_shape_is_told() -> None:
    with pytest.raises(ValueError, match=r"expected windows of shape \(n, 1000\), got \(7, 999\)"):
        Encoder()(WINDOWS[:, 1:])


def test_attention_of_a_cpu_equals_the_fused_one() -> None:
    query, key, value = torch.randn(3, 2, 4, 50, 32)
    fused = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(attend(query, key, value), fused)


def test_gain_and_offset_of_a_window_change_nothing() -> None:
    """Which is why `store.normalise` has no effect on it."""
    torch.manual_seed(0)
    encoder = Encoder().eval()
    gains = torch.tensor([0.2, 0.5, 0.8, 1.0, 1.5, 3.0, 9.0]).unsqueeze(1)
    plain, changed = encoder(WINDOWS), encoder(gains * WINDOWS + gains)
    assert (changed - plain).abs().max() < 1e-3 * plain.std()
