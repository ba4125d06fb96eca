"""Which numbers a training computes with, settled when its run is created.

Nothing here imports torch unless the machine has an NVIDIA card: run names are asked for often.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

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
