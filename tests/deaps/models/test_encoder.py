from __future__ import annotations

from typing import Any, Literal

import pytest
import torch

from deaps.config import EncoderSettings
from deaps.models.encoder import Encoder, PatchBatchNorm, attend, sine_cosine_positions

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


@pytest.mark.parametrize("norm", ["embedding", "final"])
@pytest.mark.parametrize("patch_norm", ["layer", "batch"])
def test_every_norm_fits_the_papers_count(norm: Any, patch_norm: Any) -> None:
    encoder = Encoder(EncoderSettings(norm=norm, patch_norm=patch_norm))
    assert sum(p.numel() for p in encoder.parameters() if p.requires_grad) == 1_192_616


@pytest.mark.parametrize(
    ("patch_norm", "norm", "sees"),
    [("layer", "final", False), ("batch", "final", True), ("batch", "embedding", False)],
)
def test_amplitude_is_seen_where_no_layer_norm_follows_batch_normalised_patches(
    patch_norm: Any, norm: Any, sees: bool
) -> None:
    encoder = Encoder(EncoderSettings(patch_norm=patch_norm, norm=norm)).eval()
    gains = torch.rand(7, 50, 1).add(0.5).expand(-1, -1, 20).reshape(7, 1000)
    change = (encoder(WINDOWS * gains) - encoder(WINDOWS)).abs().max()
    assert (change > 1e-2) == sees


def test_batch_normalised_patches_equal_torchs_batch_norm() -> None:
    ours, theirs = PatchBatchNorm(20), torch.nn.BatchNorm1d(20)
    for patches in torch.randn(3, 8, 50, 20) * 3 + 1:
        expected = theirs(patches.flatten(0, 1)).reshape(8, 50, 20)
        torch.testing.assert_close(ours(patches), expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    patches = torch.randn(2, 50, 20)
    expected = theirs.eval()(patches.flatten(0, 1)).reshape(2, 50, 20)
    torch.testing.assert_close(ours.eval()(patches), expected)


@pytest.mark.parametrize("chunk", [1, 3])
def test_batch_statistics_know_no_chunks(chunk: int) -> None:
    settings = [EncoderSettings(patch_norm="batch", chunk=size) for size in (7, chunk)]
    whole, chunked = map(Encoder, settings)
    chunked.load_state_dict(whole.state_dict())
    torch.testing.assert_close(chunked(WINDOWS), whole(WINDOWS), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("initial", "std"),
    [
        ("truncated", 0.0176),
        ("xavier", (2 / (128 + 512)) ** 0.5),
        ("torch", (1 / (3 * 128)) ** 0.5),
    ],
)
def test_initial_weights_have_their_deviation(initial: Any, std: float) -> None:
    """A normal cut at two deviations has 0.88 of its own; a uniform of +-a has a / sqrt(3)."""
    torch.manual_seed(0)
    first: Any = Encoder(EncoderSettings(initial=initial)).blocks[0]
    weight = first.perceptron[0].weight
    assert float(weight.detach().std()) == pytest.approx(std, rel=0.02)


def test_gain_and_offset_of_a_window_change_nothing() -> None:
    """Which is why `store.normalise` has no effect on it."""
    torch.manual_seed(0)
    encoder = Encoder().eval()
    gains = torch.tensor([0.2, 0.5, 0.8, 1.0, 1.5, 3.0, 9.0]).unsqueeze(1)
    plain, changed = encoder(WINDOWS), encoder(gains * WINDOWS + gains)
    assert (changed - plain).abs().max() < 1e-3 * plain.std()
