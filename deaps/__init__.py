"""Encoder, losses, methods, training, benchmarks and report.

The names that users need are here and loaded when asked for: torch takes seconds to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deaps.estimator import EcgEncoder
    from deaps.models.encoder import Encoder
    from deaps.models.encoder_file import load_encoder

_HOMES = {
    "Encoder": "deaps.models.encoder",
    "load_encoder": "deaps.models.encoder_file",
    "EcgEncoder": "deaps.estimator",
}

__all__ = ["EcgEncoder", "Encoder", "load_encoder"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'deaps' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
