"""Methods of self-supervised learning, by name."""

from __future__ import annotations

from difflib import get_close_matches

from deaps.config import ModelSettings
from deaps.methods.byol import Byol
from deaps.methods.clocs import Clocs
from deaps.methods.deaps import Deaps
from deaps.methods.interface import Method
from deaps.methods.mixing_up import MixingUp
from deaps.methods.pclr import Pclr
from deaps.methods.tfc import Tfc
from storage.errors import DeapsError

__all__ = ["METHODS", "Method", "build_method"]

METHODS: dict[str, type[Method]] = {
    method.name: method for method in (Deaps, Byol, Pclr, Clocs, MixingUp, Tfc)
}
"""All methods, by name; each is built from `ModelSettings`."""


def build_method(name: str, settings: ModelSettings) -> Method:
    """Return the method of that name, with fresh weights from torch's global generator."""
    if name not in METHODS:
        close = get_close_matches(name.lower(), METHODS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise DeapsError(f"no method {name!r}{hint} Possible: {', '.join(METHODS)}")
    return METHODS[name](settings)
