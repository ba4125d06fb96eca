"""Encoders in files, for tests that only need one."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from deaps.models.contract import CONTRACT_KEY, VECTOR_KEY, make_vector
from deaps.models.encoder_file import SHIPPED, read_about
from deaps.training.checkpoints import save_encoder


def write_encoder(path: Path, encoder: nn.Module, **about: str) -> Path:
    """Write an encoder with a whole contract, the shipped one's, and return its path."""
    contract = read_about(SHIPPED / "model.safetensors")[CONTRACT_KEY]
    whole = {"architecture": "encoder", "settings": "{}", CONTRACT_KEY: contract}
    save_encoder(path, encoder, whole | {VECTOR_KEY: make_vector(encoder)} | about)
    return path
