from __future__ import annotations

import torch
from torch import nn

from deaps.models.heads import predictor, projector


def kinds(head: nn.Sequential) -> list[str]:
    return [type(module).__name__ for module in head]


def test_heads_have_batch_norm_and_relu_between_two_layers() -> None:
    for head in (projector(), predictor()):
        assert kinds(head) == ["Linear", "BatchNorm1d", "ReLU", "Linear"]


def test_heads_of_contrastive_methods_have_no_batch_norm() -> None:
    assert kinds(projector(batch_norm=False)) == ["Linear", "ReLU", "Linear"]


def test_widths_are_the_papers() -> None:
    representations = torch.randn(4, 128)
    projections = projector()(representations)
    assert projections.shape == (4, 256)
    assert predictor()(projections).shape == (4, 256)
    assert projector()[0].out_features == predictor()[0].out_features == 512
