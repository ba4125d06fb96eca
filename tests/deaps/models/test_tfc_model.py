from __future__ import annotations

import pytest
import torch
from torch import nn

from deaps.config import TfcSettings
from deaps.models.tfc_model import TfcLayer, TfcModel, spectrum

WINDOWS = torch.randn(5, 1000, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def model() -> TfcModel:
    torch.manual_seed(0)
    return TfcModel().eval()


def test_parameter_count_is_the_papers(model: TfcModel) -> None:
    assert sum(p.numel() for p in model.parameters()) == 32_623_328


def test_evaluated_are_both_projections(model: TfcModel) -> None:
    views = model.both(WINDOWS)
    assert views.time.shape == views.frequency.shape == (5, 1000)
    expected = torch.cat([views.time_projection, views.frequency_projection], dim=1)
    assert expected.shape == (5, 256)
    torch.testing.assert_close(model(WINDOWS), expected)


def test_window_attention_does_not_see_neighbours(model: TfcModel) -> None:
    torch.testing.assert_close(model(WINDOWS[:1])[0], model(WINDOWS)[0], atol=1e-5, rtol=0)


def test_batch_attention_sees_neighbours() -> None:
    torch.manual_seed(0)
    model = TfcModel(TfcSettings(attention="batch")).eval()
    assert (model(WINDOWS[:2])[0] - model(WINDOWS)[0]).abs().max() > 1e-3


@pytest.mark.parametrize("across_batch", [False, True])
def test_layer_is_torchs(across_batch: bool) -> None:
    torch.manual_seed(0)
    ours = TfcLayer(across_batch=across_batch)
    theirs = nn.TransformerEncoderLayer(1000, 2, 2000, dropout=0, batch_first=True)
    pairs = zip(theirs.parameters(), ours_in_their_order(ours), strict=True)
    with torch.no_grad():
        for target, source in pairs:
            target.copy_(source)
    rows = WINDOWS[None] if across_batch else WINDOWS[:, None]
    torch.testing.assert_close(ours(WINDOWS), theirs(rows).reshape(5, 1000), atol=1e-5, rtol=1e-5)


def ours_in_their_order(layer: TfcLayer) -> list[nn.Parameter]:
    attention = [*layer.attention.parameters()]
    norms = [*layer.attention_norm.parameters(), *layer.feed_forward_norm.parameters()]
    return [*attention, *layer.feed_forward.parameters(), *norms]


def test_queries_and_keys_of_a_single_token_get_no_gradient() -> None:
    layer = TfcLayer(across_batch=False)
    layer(WINDOWS)[:, 0].sum().backward()
    gradient = layer.attention.inputs.weight.grad
    assert gradient is not None
    assert (gradient[:2000] == 0).all()
    assert (gradient[2000:] != 0).any()


def test_spectrum_of_a_sine_has_two_lines() -> None:
    sine = torch.sin(2 * torch.pi * 12 * torch.arange(1000) / 1000).unsqueeze(0)
    lines = spectrum(sine)[0]
    assert lines.topk(2).indices.sort().values.tolist() == [12, 988]
    assert lines[12].item() == pytest.approx(500, rel=1e-4)
