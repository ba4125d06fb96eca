"""Checkpoints: everything that a run needs to go on bit for bit, and the encoder alone.

A checkpoint is a folder, written under a temporary name and renamed: ``weights.safetensors``,
``state.pt`` (optimiser and random numbers, readable with ``weights_only=True``) and
``checkpoint.json`` (step, what it belongs to, the other files' digests). A finished run keeps its
encoders alone: nothing resumes it, and the optimiser's state is twice as large as the weights.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from deaps.models.encoder_file import EncoderFileError, check_weights, encoder_bytes
from storage.errors import DeapsError
from storage.files import CHECKPOINTS_FOLDER, file_sha256, fsync_path, name_file, replacing

_WEIGHTS, _STATE, _ABOUT = "weights.safetensors", "state.pt", "checkpoint.json"


class CheckpointError(DeapsError):
    """A checkpoint that is damaged or belongs to something else."""


@dataclass(frozen=True, slots=True)
class About:
    """The facts in a checkpoint's own file."""

    step: int
    method: str
    config_digest: str
    sha256: dict[str, str]


def save_checkpoint(
    run: Path,
    step: int,
    *,
    method: nn.Module,
    method_name: str,
    config_digest: str,
    state: dict[str, Any],
    keep: int,
) -> Path:
    """Write the checkpoint of ``step`` and remove all but the newest ``keep``."""
    folder = run / CHECKPOINTS_FOLDER / f"step-{step:08d}"
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        _write_checkpoint(temporary, About(step, method_name, config_digest, {}), method, state)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)  # a full disk must not keep half of one
        name_file(error, folder)
        raise
    fsync_path(folder.parent)
    for old in _checkpoints(run)[:-keep]:
        shutil.rmtree(old)
    return folder


def _write_checkpoint(folder: Path, about: About, method: nn.Module, state: dict[str, Any]) -> None:
    # As bytes: what the libraries raise when they write to a full disk is no OSError.
    contents = {_WEIGHTS: save(_plain_weights(method)), _STATE: _state_bytes(state)}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    text = json.dumps(asdict(replace(about, sha256=digests)), indent=1) + "\n"
    folder.mkdir(parents=True)
    for name, content in {**contents, _ABOUT: text.encode()}.items():
        (folder / name).write_bytes(content)
        fsync_path(folder / name)


def _state_bytes(state: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def load_checkpoint(
    run: Path,
    *,
    method: nn.Module,
    method_name: str,
    config_digest: str,
    notify: Callable[[str], None],
) -> tuple[int, dict[str, Any]] | None:
    """Load the newest whole checkpoint into ``method``; return its step and state, or None.

    A damaged checkpoint is reported through ``notify``, and the one before it is loaded.

    Raises
    ------
    CheckpointError
        If a whole checkpoint belongs to another method or configuration.
    """
    for folder in reversed(_checkpoints(run)):
        try:
            about, weights, state = _read(folder)
        except CheckpointError as error:
            notify(f"{error}; going back to the checkpoint before it")
            continue
        if about.method != method_name or about.config_digest != config_digest:
            raise CheckpointError(
                f"{folder} belongs to method {about.method!r} with configuration "
                f"{about.config_digest[:12]}, not to {method_name!r} with {config_digest[:12]}; "
                "remove it to begin that training again"
            )
        try:
            check_weights(method, weights, where=str(folder / _WEIGHTS))
        except EncoderFileError as error:
            notify(f"{error}; going back to the checkpoint before it")
            continue
        method.load_state_dict(weights)
        return about.step, state
    return None


def remove_checkpoints(run: Path) -> None:
    """Remove all checkpoints of a run; its encoders stay."""
    shutil.rmtree(run / CHECKPOINTS_FOLDER, ignore_errors=True)


def save_encoder(path: Path, encoder: nn.Module, about: dict[str, str]) -> None:
    """Write an encoder's weights alone, with what made them in the file's metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(encoder_bytes(_plain_weights(encoder), about))


def _read(folder: Path) -> tuple[About, dict[str, Tensor], dict[str, Any]]:
    try:
        about = About(**json.loads((folder / _ABOUT).read_bytes()))
        for name, digest in about.sha256.items():
            if file_sha256(folder / name) != digest:
                raise CheckpointError(f"{folder / name} is damaged")
        weights = load_file(folder / _WEIGHTS)
        state = torch.load(folder / _STATE, weights_only=True, map_location="cpu")
    except CheckpointError:
        raise
    except pickle.UnpicklingError:
        raise CheckpointError(
            f"{folder / _STATE} is damaged, or holds more than tensors and numbers, which is never "
            "executed"
        ) from None
    except Exception:  # files of any content raise anything
        raise CheckpointError(f"{folder} is damaged or incomplete") from None
    return about, weights, state


def _checkpoints(run: Path) -> list[Path]:
    return sorted((run / CHECKPOINTS_FOLDER).glob("step-*"))


def _plain_weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.contiguous().cpu() for name, value in module.state_dict().items()}
