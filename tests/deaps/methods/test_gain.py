"""What a window's gain and offset, which `store.normalise` sets, mean to each method."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from deaps.config import ContrastSettings, ModelSettings
from deaps.method_registry import PAPER_METHODS
from deaps.methods import build_method
from tests.deaps.sampling.made_batches import made_batch

AFFECTED = {"mixing-up", "tf-c"}
"""One adds windows to each other, the other adds noise of a fixed size to them."""


@pytest.mark.parametrize("name", PAPER_METHODS)
def test_gain_and_offset_change_the_loss_of_two_methods_alone(name: str) -> None:
    torch.manual_seed(0)
    # Shares near one half: with the default's, most mixtures are nearly one of the two windows.
    contrast = ContrastSettings(mixing_alpha=50.0)
    method = build_method(name, ModelSettings(contrast=contrast))
    batch = made_batch(method.views, 6)
    n, views, _ = batch.windows.shape
    gains = torch.logspace(-1, 1, n * views)[torch.randperm(n * views)].view(n, views, 1)
    changed = replace(batch, windows=gains * batch.windows + gains)
    with torch.no_grad():
        difference = abs(float(method(changed)["loss"] - method(batch)["loss"]))
    assert difference > 1e-3 if name in AFFECTED else difference < 1e-5
