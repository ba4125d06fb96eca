"""Where and with which numbers a training computes: device, precision, memory."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from storage.errors import DeapsError

if TYPE_CHECKING:  # plans and settings are made without torch, which takes seconds to import
    import torch


def choose_device(name: str) -> torch.device:
    """Return the device called ``name``; ``auto`` prefers CUDA, then MPS, then the CPU.

    Raises
    ------
    DeapsError
        If it is not available; the message lists those that are.
    """
    import torch

    present = available_devices()
    if name == "auto":
        return torch.device(present[0])
    kind = name.split(":")[0]
    if kind not in present:
        raise DeapsError(f"device {name!r} is not available here; possible: {', '.join(present)}")
    return torch.device(name)


def available_devices() -> list[str]:
    """Return the kinds of device on this machine, the fastest first."""
    import torch

    present = ["cpu"]
    if torch.backends.mps.is_available():
        present.insert(0, "mps")
    if torch.cuda.is_available():
        present.insert(0, "cuda")
    return present


def autocast_type(device: torch.device, precision: Precision) -> torch.dtype | None:
    """Return the type that autocast uses on ``device``, None for plain float32."""
    import torch

    if precision == "auto":
        if device.type != "cuda":
            return None
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}[precision]


Precision = Literal["auto", "float32", "bfloat16", "float16"]
SettledPrecision = Literal["float32", "bfloat16", "float16"]

_NATIVE_FLAGS = {"avx512_bf16", "amx_bf16"}
_NVIDIA = Path("/proc/driver/nvidia/version")


def settle_precision(precision: Precision, device: str) -> SettledPrecision:
    """Return the precision that ``auto`` stands for on a device of this machine.

    bfloat16 where the processor or card computes with it, else float16 on CUDA and float32 on a
    CPU: there, emulated bfloat16 was eleven times as slow as float32.
    """
    if precision != "auto":
        return precision
    kind = device.split(":")[0]
    if kind == "cuda" or (kind == "auto" and _NVIDIA.exists()):
        return _cuda_precision()
    if kind in ("cpu", "auto") and cpu_has_bfloat16():
        return "bfloat16"
    return "float32"


def _cuda_precision() -> SettledPrecision:
    import torch

    if not torch.cuda.is_available():
        return "bfloat16" if cpu_has_bfloat16() else "float32"
    return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"


@cache
def cpu_has_bfloat16(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Return whether this machine's processor multiplies bfloat16 natively (x86 on Linux)."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    flags = next((line for line in lines if line.startswith("flags")), "")
    return bool(_NATIVE_FLAGS & set(flags.split()))


_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Names of glibc's malloc.h for `mallopt`."""

_LARGEST = 2**31 - 1
_TOP_PAD_BYTES = 256 * 2**20


def keep_freed_memory() -> bool:
    """Let this process keep what it frees; return whether the C library can do that.

    A step on a CPU frees hundreds of megabytes of activations. By default glibc gives them back
    to the system, which hands out the same pages again in the next step, zeroed, one fault at a
    time: about a tenth of the step, and a fifth of the forward pass of an embedding.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    wanted = (
        (_MMAP_THRESHOLD, 2**30),
        (_TRIM_THRESHOLD, _LARGEST),
        (_TOP_PAD, _TOP_PAD_BYTES),
    )
    return all(mallopt(name, value) == 1 for name, value in wanted)
