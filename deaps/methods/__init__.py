"""Methods of self-supervised learning: DEAPS, the five it is compared with, and any others.

What can be said of a method without torch stands here; its class, one file each, holds the rest.
"""

from __future__ import annotations

from operator import attrgetter

from deaps.methods.registry import (
    METHODS,
    MethodEntry,
    build_method,
    find_method,
    method_names,
    register_method,
)

__all__ = [
    "BYOL",
    "CLOCS",
    "DEAPS",
    "METHODS",
    "MIXING_UP",
    "PAPER_METHODS",
    "PCLR",
    "TF_C",
    "MethodEntry",
    "build_method",
    "find_method",
    "method_names",
    "register_method",
]

DEAPS = register_method("deaps", "deaps.methods.deaps:Deaps", label="DEAPS")
BYOL = register_method("byol", "deaps.methods.byol:Byol", label="BYOL")
PCLR = register_method("pclr", "deaps.methods.pclr:Pclr", label="PCLR")
CLOCS = register_method("clocs", "deaps.methods.clocs:Clocs", label="CLOCS")
MIXING_UP = register_method("mixing-up", "deaps.methods.mixing_up:MixingUp", label="Mixing-Up")
TF_C = register_method(
    "tf-c", "deaps.methods.tfc:Tfc", label="TF-C", iterations=attrgetter("tfc_iterations")
)

PAPER_METHODS: tuple[str, ...] = tuple(
    entry.name for entry in (DEAPS, BYOL, PCLR, CLOCS, MIXING_UP, TF_C)
)
"""The methods that the paper compares, in the order of the report."""
