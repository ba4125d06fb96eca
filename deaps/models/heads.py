"""The two-layer perceptrons that losses are computed behind; none is kept after training."""

from __future__ import annotations

from torch import nn

from deaps.models.encoder import WIDTH

HIDDEN = 512
FEATURES = 256


def projector(*, batch_norm: bool = True) -> nn.Sequential:
    """Return a head from representations, (n, 128), to projections, (n, 256)."""
    return head(WIDTH, HIDDEN, FEATURES, batch_norm=batch_norm)


def predictor() -> nn.Sequential:
    """Return a head from projections, (n, 256), to predictions of the teacher's, (n, 256)."""
    return head(FEATURES, HIDDEN, FEATURES)


def head(inputs: int, hidden: int, outputs: int, *, batch_norm: bool = True) -> nn.Sequential:
    """Return Linear, BatchNorm, ReLU, Linear: (n, inputs) to (n, outputs).

    "Batch normalization and ReLU operations are incorporated between the two layers of each
    structure." (the paper, on DEAPS). The heads of PCLR, CLOCS and Mixing-Up have no batch norm.
    """
    norm = [nn.BatchNorm1d(hidden)] if batch_norm else []
    return nn.Sequential(nn.Linear(inputs, hidden), *norm, nn.ReLU(), nn.Linear(hidden, outputs))
