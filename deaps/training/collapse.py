"""Measures of a representation's collapse: when all inputs begin to look alike."""

from __future__ import annotations

import torch
from torch import Tensor

_ROUNDING = 1e-6
"""Spread below this share of the rows' own size is rounding."""


def representation_std(representations: Tensor) -> float:
    """Return the mean over features of the standard deviation over rows, (n, d).

    Rows are scaled to unit length first, so that a shrinking norm does not count; uncorrelated
    features give about 1 / sqrt(d), collapse gives 0.
    """
    unit = torch.nn.functional.normalize(representations.float(), dim=1)
    return float(unit.std(dim=0, correction=0).mean())


def effective_rank(representations: Tensor) -> float:
    """Return the exponential of the entropy of the singular values' shares, (n, d).

    1 where all rows lie on a line through their mean, up to min(n - 1, d) where they fill space
    evenly (Roy & Vetterli, 2007). Constant rows give 0.
    """
    rows = representations.float().cpu()
    values = torch.linalg.svdvals(rows - rows.mean(dim=0))
    if float(values.sum()) <= _ROUNDING * float(rows.norm()):
        return 0.0
    shares = values / values.sum()
    shares = shares[shares > 0]
    return float(torch.exp(-(shares * shares.log()).sum()))
