"""Methods of self-supervised learning, one class and file each; `register_method` adds others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deaps.method_registry import find_method, method_names, register_method

if TYPE_CHECKING:
    from deaps.config import ModelSettings
    from deaps.methods.interface import Method

__all__ = ["build_method", "find_method", "load_method", "method_names", "register_method"]


def load_method(name: str) -> type[Method]:
    """Return the class of the method of that name."""
    return find_method(name).load()


def build_method(name: str, settings: ModelSettings) -> Method:
    """Return the method of that name, with fresh weights from torch's global generator."""
    return load_method(name)(settings)
