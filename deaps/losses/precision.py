"""Single precision for losses, whatever the precision of the networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import torch
from torch import Tensor

Arguments = ParamSpec("Arguments")


def in_float32(loss: Callable[Arguments, Tensor]) -> Callable[Arguments, Tensor]:
    """Return ``loss`` computed in float32, outside autocast, on positional tensors.

    Autocast would cast the matrix products of a loss to half precision again, and exponentials
    and differences of nearly equal numbers cannot afford that. Doubles stay doubles.
    """

    @wraps(loss)
    def computed(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Tensor:
        raised = [_raise(argument) for argument in args]
        device = next(argument.device for argument in args if isinstance(argument, Tensor))
        with torch.autocast(device.type, enabled=False):
            return loss(*raised, **kwargs)  # type: ignore[arg-type]

    return computed


def _raise(argument: object) -> object:
    if isinstance(argument, Tensor) and argument.dtype in (torch.float16, torch.bfloat16):
        return argument.float()
    return argument
