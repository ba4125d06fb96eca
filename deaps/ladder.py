"""The paper's ablation of components, in order."""

from __future__ import annotations

from typing import Any

from deaps.config import MethodName

LADDER: dict[str, tuple[MethodName, dict[str, Any]]] = {
    "PCLR": ("pclr", {}),
    "BYOL": ("byol", {}),
    "+ covariance": ("deaps", {"gradual": False}),
    "+ gradual loss": ("deaps", {"gradual": True, "masked": False}),
    "+ mask (DEAPS)": ("deaps", {"gradual": True, "masked": True}),
}
"""A rung's method, and what it overrides of `DeapsSettings`. DEAPS without its gradual loss is
BYOL with the covariance loss."""
