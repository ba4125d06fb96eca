"""An encoder on disk: weights in safetensors, and in their metadata what made them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open

from deaps.method_registry import find_method
from deaps.models.encoder import Encoder
from deaps.models.network import Network
from storage.config import Normalisation
from storage.errors import DeapsError

if TYPE_CHECKING:
    from deaps.training.run_folder import Run
    from deaps.training.trained_on import TrainedOn

SHIPPED = Path(__file__).parent / "pretrained" / "deaps-open.safetensors"
"""The encoder that comes with the package."""


class EncoderFileError(DeapsError):
    """A file that is not an encoder of ours; the message says why."""


def about_encoder(run: Run, encoder: Network, step: int, trained_on: TrainedOn) -> dict[str, str]:
    """Return the metadata of an encoder's file."""
    return {
        "architecture": encoder.architecture,
        "settings": encoder.settings.model_dump_json(),
        "method": run.plan.method,
        "run": run.name,
        "snapshot": run.snapshot_id,
        "step": str(step),
        "normalise": run.plan.normalise,
    } | trained_on.metadata()


def read_about(path: Path) -> dict[str, str]:
    """Return the metadata of an encoder's file.

    Raises
    ------
    EncoderFileError
        If it is missing, not in safetensors format (a pickle is never loaded), or not ours.
    """
    if not path.is_file():
        raise EncoderFileError(f"no encoder at {path}; those of a run are in RUN/encoders")
    try:
        with safe_open(path, framework="pt") as file:
            about = dict(file.metadata() or {})
    except SafetensorError:
        raise EncoderFileError(
            f"{path} is not a safetensors file; pickles are not loaded"
        ) from None
    if not {"architecture", "settings"} <= about.keys():
        raise EncoderFileError(
            f"{path} is not an encoder of this project: its metadata lack architecture or settings"
        )
    return about


def normalisation_of(path: Path | str | None = None) -> Normalisation:
    """Return what the windows were normalised by that an encoder was trained on."""
    normalise = read_about(SHIPPED if path is None else Path(path)).get("normalise", "recording")
    return TypeAdapter[Normalisation](Normalisation).validate_python(normalise)


def load_encoder(path: Path | str | None = None) -> Network:
    """Return the encoder in a file, ready for use: windows (n, 1000) to representations.

    Without ``path`` it is the encoder that is shipped with the package.
    """
    from safetensors.torch import load_file

    file = SHIPPED if path is None else Path(path)
    about = read_about(file)
    network = _network(file, about)
    module = network(network.settings_type.model_validate_json(about["settings"]))
    module.load_state_dict(load_file(file))
    return module.eval().requires_grad_(False)


def _network(file: Path, about: dict[str, str]) -> type[Network]:
    """Return the class of the network in a file: the common encoder, or its method's own."""
    if about["architecture"] == Encoder.architecture:
        return Encoder
    try:
        network = find_method(about.get("method", "")).load().network
    except DeapsError as error:
        raise EncoderFileError(f"{file} cannot be loaded: {error}") from None
    if network.architecture != about["architecture"]:
        raise EncoderFileError(
            f"{file} holds a network {about['architecture']!r}; method {about['method']!r} has "
            f"{network.architecture!r} here"
        )
    return network
