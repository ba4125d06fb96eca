"""Encoder, losses, methods, training, benchmarks and report.

The names that users need are here and loaded when asked for: torch takes seconds to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deaps.encoder import Encoder
    from deaps.encoder_file import load_encoder
    from deaps.tfc import TFC
    from deaps.transformers import EcgEncoder

_HOMES = {
    "Encoder": "deaps.encoder",
    "TFC": "deaps.tfc",
    "load_encoder": "deaps.encoder_file",
    "EcgEncoder": "deaps.transformers",
}

__all__ = ["TFC", "EcgEncoder", "Encoder", "load_encoder"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'deaps' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
