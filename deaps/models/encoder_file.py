"""An encoder on disk: weights in safetensors, and in their metadata what made them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open
from torch import nn

from deaps.config import EncoderSettings, TfcSettings
from deaps.models.encoder import Encoder
from deaps.models.tfc_model import TFC
from storage.config import Normalisation
from storage.errors import DeapsError

if TYPE_CHECKING:
    from deaps.training.run_folder import Run

SHIPPED = Path(__file__).parent / "pretrained" / "deaps-open.safetensors"
"""The encoder that comes with the package."""


class EncoderFileError(DeapsError):
    """A file that is not an encoder of ours; the message says why."""


def about_encoder(run: Run, step: int) -> dict[str, str]:
    """Return what an encoder's file says of itself."""
    is_tfc = run.plan.method == "tf-c"
    settings = run.plan.model.tfc if is_tfc else run.plan.model.encoder
    return {
        "architecture": "tfc" if is_tfc else "encoder",
        "settings": settings.model_dump_json(),
        "method": run.plan.method,
        "run": run.name,
        "snapshot": run.snapshot_id,
        "step": str(step),
        "normalise": run.plan.normalise,
    }


def read_about(path: Path) -> dict[str, str]:
    """Return what an encoder's file says of itself.

    Raises
    ------
    EncoderFileError
        If it is missing, not in safetensors format (a pickle is never loaded), or not ours.
    """
    if not path.is_file():
        raise EncoderFileError(f"no encoder at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            about = dict(file.metadata() or {})
    except SafetensorError:
        raise EncoderFileError(
            f"{path} is not a safetensors file; pickles are not loaded"
        ) from None
    if about.get("architecture") not in ("encoder", "tfc"):
        raise EncoderFileError(f"{path} does not say that it is an encoder of this project")
    return about


def normalisation_of(path: Path | str | None = None) -> Normalisation:
    """Return what the windows were normalised by that an encoder was trained on."""
    said = read_about(SHIPPED if path is None else Path(path)).get("normalise", "recording")
    return TypeAdapter[Normalisation](Normalisation).validate_python(said)


def load_encoder(path: Path | str | None = None) -> nn.Module:
    """Return the encoder in a file, ready for use: windows (n, 1000) to representations.

    Without ``path`` it is the encoder that is shipped with the package.
    """
    from safetensors.torch import load_file

    file = SHIPPED if path is None else Path(path)
    about = read_about(file)
    settings = json.loads(about["settings"])
    module: nn.Module
    if about["architecture"] == "tfc":
        module = TFC(TfcSettings.model_validate(settings))
    else:
        module = Encoder(EncoderSettings.model_validate(settings))
    module.load_state_dict(load_file(file))
    return module.eval().requires_grad_(False)
