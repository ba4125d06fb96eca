"""The device that a training runs on, and its precision."""

from __future__ import annotations

import torch

from deaps.training.precision import Precision
from storage.errors import DeapsError


class DeviceError(DeapsError):
    """The device asked for is not available on this machine."""


def choose_device(name: str) -> torch.device:
    """Return the device called ``name``; ``auto`` prefers CUDA, then MPS, then the CPU.

    Raises
    ------
    DeviceError
        If it is not available; the message lists those that are.
    """
    present = available_devices()
    if name == "auto":
        return torch.device(present[0])
    kind = name.split(":")[0]
    if kind not in present:
        raise DeviceError(f"device {name!r} is not available here; possible: {', '.join(present)}")
    return torch.device(name)


def available_devices() -> list[str]:
    """Return the kinds of device on this machine, the fastest first."""
    present = ["cpu"]
    if torch.backends.mps.is_available():
        present.insert(0, "mps")
    if torch.cuda.is_available():
        present.insert(0, "cuda")
    return present


def autocast_type(device: torch.device, precision: Precision) -> torch.dtype | None:
    """Return the type that autocast uses on ``device``, None for plain float32."""
    if precision == "auto":
        if device.type != "cuda":
            return None
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}[precision]
