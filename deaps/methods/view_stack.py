"""Several views through one network in one call.

A call for each view would be slower, and batch norms would see each view's statistics apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor


def encode_views(encoder: Callable[[Tensor], Tensor], windows: Tensor) -> Tensor:
    """Return representations, (n, views, d), of windows, (n, views, 1000)."""
    return encoder(windows.flatten(0, 1)).reshape(*windows.shape[:2], -1)


def stack_views(representations: Tensor, views: Iterable[int]) -> Tensor:
    """Return some views of (n, views, d) one below the other: (number of views * n, d)."""
    return torch.cat([representations[:, view] for view in views])
