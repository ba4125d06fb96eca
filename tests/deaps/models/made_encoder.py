"""Encoders in files, for tests that only need one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from deaps.models.contract import CONTRACT_KEY, VECTOR_KEY, make_vector
from deaps.models.encoder_file import SHIPPED, read_about
from deaps.training.checkpoints import save_encoder


def write_encoder(path: Path, encoder: nn.Module, **terms: Any) -> Path:
    """Write an encoder with the shipped one's contract, or other terms in it; return its path."""
    contract = json.loads(read_about(SHIPPED / "model.safetensors")[CONTRACT_KEY])
    about = {
        "architecture": "encoder",
        "settings": "{}",
        CONTRACT_KEY: json.dumps(contract | terms),
        VECTOR_KEY: make_vector(encoder),
    }
    save_encoder(path, encoder, about)
    return path


def put_into_hub_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the shipped encoder ``hf://lab/ecg`` in a cache, and keep the hub's client offline."""
    constants = pytest.importorskip("huggingface_hub.constants")
    commit = "0" * 40
    repository = cache / "models--lab--ecg"
    snapshot = repository / "snapshots" / commit
    snapshot.mkdir(parents=True)
    shutil.copyfile(SHIPPED / "model.safetensors", snapshot / "model.safetensors")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
