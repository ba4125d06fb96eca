"""An encoder on disk: weights in safetensors, and in their metadata what made them."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from safetensors import SafetensorError, safe_open

from deaps.method_registry import find_method
from deaps.models.contract import CONTRACT_KEY, TOLERANCE, VECTOR_KEY, Contract, make_vector, miss
from deaps.models.encoder import Encoder
from deaps.models.hub import HUB_PREFIX, WEIGHTS_NAME, fetch_from_hub
from deaps.models.network import Network
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.snapshot import open_index, read_snapshot

if TYPE_CHECKING:
    from torch import Tensor, nn

    from deaps.training.run_folder import Run
    from deaps.training.trained_on import TrainedOn

_LENGTH_BYTES = 8
"""A safetensors file starts with the length of its header, as a little-endian number."""

_METADATA, _DIGEST = "__metadata__", "sha256"

SHIPPED = Path(__file__).parent / "pretrained" / "deaps-open"
"""The folder of the encoder that comes with the package."""


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
        CONTRACT_KEY: contract_of(run, trained_on).model_dump_json(),
        VECTOR_KEY: make_vector(encoder),
    } | trained_on.metadata()


def contract_of(run: Run, trained_on: TrainedOn) -> Contract:
    """Return what the encoders of a run expect of their windows."""
    with open_index(run.index) as index:
        settings = read_snapshot(index).settings
    return Contract.of_snapshot(
        settings,
        normalise=run.plan.normalise,
        trained_on=trained_on.digest,
        synthetic=trained_on.synthetic,
    )


def encoder_bytes(weights: dict[str, Tensor], about: dict[str, str]) -> bytes:
    """Return an encoder's file: equal weights and metadata give equal bytes.

    The library writes the metadata in an order that changes from process to process, so the
    header is written again with its keys in order. Among them is the digest of all the rest.
    """
    from safetensors.torch import save

    header, content = _split(save(weights, metadata=about))
    header[_METADATA][_DIGEST] = _digest(header, content)
    text = _canonical(header)
    text += b" " * (-len(text) % _LENGTH_BYTES)  # the weights start at a multiple of 8 bytes
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text + content


def _split(file: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header of a safetensors file, and the weights after it."""
    end = _LENGTH_BYTES + int.from_bytes(file[:_LENGTH_BYTES], "little")
    return json.loads(file[_LENGTH_BYTES:end]), file[end:]


def _canonical(header: dict[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def _digest(header: dict[str, Any], content: bytes) -> str:
    """Return the SHA-256 of a file without its digest."""
    others = {key: value for key, value in header[_METADATA].items() if key != _DIGEST}
    return hashlib.sha256(_canonical(header | {_METADATA: others}) + content).hexdigest()


def _check_digest(path: Path) -> None:
    """Raise EncoderFileError if a file is not what was written; older files have no digest."""
    header, content = _split(path.read_bytes())
    noted = header.get(_METADATA, {}).get(_DIGEST)
    if noted is not None and noted != _digest(header, content):
        raise EncoderFileError(
            f"{path} was changed after it was written: its SHA-256 differs; copy it again, or run "
            "deaps train"
        )


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


def encoder_file(path: Path | str | None = None) -> Path:
    """Return the file of an encoder: of a path, of a folder as model hubs lay it out, of a hub.

    ``hf://owner/name`` or ``hf://owner/name@revision`` is fetched with the hub's client. Without
    ``path`` it is the encoder that is shipped with the package.
    """
    if path is None:
        path = SHIPPED
    if str(path).startswith(HUB_PREFIX):
        return fetch_from_hub(str(path))
    found = Path(path)
    return found / WEIGHTS_NAME if found.is_dir() else found


def read_contract(path: Path | str | None = None) -> Contract | None:
    """Return what an encoder expects of its windows; None of a file from before contracts.

    Raises
    ------
    EncoderFileError
        If the contract cannot be read.
    """
    file = encoder_file(path)
    text = read_about(file).get(CONTRACT_KEY)
    try:
        return None if text is None else Contract.model_validate_json(text)
    except ValueError:
        raise EncoderFileError(f"{file}: its contract cannot be read; copy it again") from None


def normalisation_of(path: Path | str | None = None) -> Normalisation:
    """Return what the windows were normalised by that an encoder was trained on."""
    normalise = read_about(encoder_file(path)).get("normalise", "recording")
    return TypeAdapter[Normalisation](Normalisation).validate_python(normalise)


def require_chain(path: Path | str | None, settings: Mapping[str, Any]) -> None:
    """Check that windows made with a snapshot's settings are what an encoder expects.

    Raises
    ------
    EncoderFileError
        If they are not; the message names each setting.
    """
    contract = read_contract(path)
    found = contract.contradictions(settings) if contract else []
    if found:
        raise EncoderFileError(
            f"{encoder_file(path)} was trained on other windows: {'; '.join(found)}. "
            "Use its settings, or train an encoder with yours"
        )


def load_encoder(path: Path | str | None = None) -> Network:
    """Return the encoder in a file, ready for use: windows (n, 1000) to representations.

    ``path`` is a file, a folder as model hubs lay it out, or ``hf://owner/name``; without it, it
    is the encoder that is shipped with the package. The encoder must reproduce the test vector in
    its file.
    """
    from safetensors.torch import load_file

    file = encoder_file(path)
    about = read_about(file)
    _check_digest(file)
    network = _network(file, about)
    try:
        module = network(network.settings_type.model_validate_json(about["settings"]))
    except ValueError:
        raise EncoderFileError(f"{file}: its metadata hold no settings of an encoder") from None
    weights = load_file(file)
    check_weights(module, weights, where=str(file))
    module.load_state_dict(weights)
    _check_vector(file, about, module)
    return module.eval().requires_grad_(False)


def _check_vector(file: Path, about: dict[str, str], module: Network) -> None:
    """Raise EncoderFileError unless an encoder answers its test window as it did when written."""
    if CONTRACT_KEY not in about:
        warnings.warn(
            f"{file} has no contract and is read as version 1: whether rate, filter and "
            "normalisation are those it was trained with is not checked",
            stacklevel=3,
        )
    if VECTOR_KEY not in about:
        return
    missed_by = miss(module, about[VECTOR_KEY])
    if not missed_by <= TOLERANCE:
        raise EncoderFileError(
            f"{file} does not reproduce its test vector: it differs by {missed_by:.1e}, allowed is "
            f"{TOLERANCE:.0e}. The file was changed, or torch computes otherwise here"
        )


def check_weights(module: nn.Module, weights: dict[str, Tensor], *, where: str) -> None:
    """Raise EncoderFileError, in one line, unless ``weights`` are finite and those of ``module``.

    Parameters
    ----------
    module
        The network that they are for.
    weights
        Tensors by name.
    where
        The file they come from, for the message.
    """
    expected = module.state_dict()
    for problem, names in (
        ("lacks", expected.keys() - weights.keys()),
        ("also has", weights.keys() - expected.keys()),
    ):
        if names:
            shown = f"{min(names)!r}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
            raise EncoderFileError(f"{where} holds other weights: it {problem} {shown}")
    for name, value in weights.items():
        if value.shape != expected[name].shape:
            raise EncoderFileError(
                f"{where}: {name!r} has shape {tuple(value.shape)}; "
                f"expected {tuple(expected[name].shape)}"
            )
        if value.is_floating_point() and not value.isfinite().all():
            raise EncoderFileError(f"{where}: {name!r} holds NaN or infinity")


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
