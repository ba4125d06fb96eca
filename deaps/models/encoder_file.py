"""An encoder on disk: weights in safetensors, and in their metadata what made them."""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open

from deaps.method_registry import find_method
from deaps.models.contract import (
    CONTRACT_KEY,
    CONTRACT_VERSION,
    TOLERANCE,
    VECTOR_KEY,
    Contract,
    ContractHead,
    make_vector,
    vector_error,
)
from deaps.models.encoder import Encoder, Network
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.packages import require_extra
from storage.snapshot import Chain, open_index, read_chains, read_snapshot

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from torch import Tensor, nn

    from deaps.training.run_folder import Run
    from deaps.training.trained_on import TrainedOn


_LENGTH_BYTES = 8
"""A safetensors file starts with the length of its header, as a little-endian number."""

_METADATA, _DIGEST = "__metadata__", "sha256"

_NORMALISATIONS = TypeAdapter[Normalisation](Normalisation)


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
        windows = trained_on.windows_in(index)
    return Contract.of_windows(
        windows.chains,
        leads=settings["signal"],
        channels=windows.channels,
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


def encoder_name(path: Path | str | None = None) -> str:
    """Return an encoder's name for people: on a hub, of its folder, or its run and step."""
    if str(path).startswith(HUB_PREFIX):
        return str(path)
    file = encoder_file(path).absolute()
    if file.name == WEIGHTS_NAME:
        return file.parent.name
    about = read_about(file)
    return f"{about['run']} step {about['step']}" if about.get("run") else file.stem


def read_contract(path: Path | str | None = None) -> Contract | None:
    """Return what an encoder expects of its windows; None of a file from before contracts.

    Raises
    ------
    EncoderFileError
        If the contract cannot be read, is of a later version, or contradicts the rest of the file.
    """
    file = encoder_file(path)
    about = read_about(file)
    if CONTRACT_KEY not in about:
        return None
    try:
        _check_version(file, ContractHead.model_validate_json(about[CONTRACT_KEY]).version)
        contract = Contract.model_validate_json(about[CONTRACT_KEY])
    except ValidationError as error:
        raise EncoderFileError(
            f"{file}: its contract cannot be read ({_faults(error)}); copy it again"
        ) from None
    _check_agreement(file, about, contract)
    return contract


def _faults(error: ValidationError) -> str:
    """Return which keys of a contract are wrong, and why."""
    parts = [(*map(str, fault["loc"]), fault["msg"]) for fault in error.errors()]
    return "; ".join(": ".join(part) for part in parts)


def _check_version(file: Path, version: int) -> None:
    if version != CONTRACT_VERSION:
        raise EncoderFileError(
            f"{file} has a contract of version {version}; this program reads version "
            f"{CONTRACT_VERSION}. Install a version of deaps that reads it, or use another encoder"
        )


def _check_agreement(file: Path, about: dict[str, str], contract: Contract) -> None:
    """Raise EncoderFileError if a file's contract contradicts its other metadata."""
    for key in ("normalise", "trained_on"):
        if key in about and about[key] != getattr(contract, key):
            raise EncoderFileError(
                f"{file} contradicts itself: {key} is {about[key]!r}, but "
                f"{getattr(contract, key)!r} in its contract; copy it again, or run deaps train"
            )


def normalisation_of(path: Path | str | None = None) -> Normalisation:
    """Return what the windows were normalised by that an encoder was trained on."""
    file = encoder_file(path)
    contract = read_contract(file)
    if contract is not None:
        return contract.normalise
    normalise = read_about(file).get("normalise", "recording")
    try:
        return _NORMALISATIONS.validate_python(normalise)
    except ValueError:
        allowed = ", ".join(get_args(Normalisation))
        raise EncoderFileError(
            f"{file} was trained on windows normalised by {normalise!r}; possible: {allowed}. "
            "Use another encoder"
        ) from None


def require_chain(path: Path | str | None, chain: Chain) -> None:
    """Check that windows made by a chain are what an encoder expects.

    Raises
    ------
    EncoderFileError
        If they are not; the message names each setting.
    """
    file = encoder_file(path)
    contract = read_contract(file)
    found = contract.contradictions(chain) if contract else []
    if found:
        raise EncoderFileError(
            f"{file} was trained on other windows: {'; '.join(found)}. "
            "Use its settings, or train an encoder with yours"
        )


def require_chain_of_store(
    path: Path | str | None, index: DuckDBPyConnection, condition: str = "true", **values: object
) -> None:
    """Check that windows of a store are what an encoder expects, each by its own settings.

    ``condition`` in SQL chooses recordings, all by default.
    """
    for chain in read_chains(index, condition, **values):
        require_chain(path, chain)


def load_encoder(path: Path | str | None = None) -> Network:
    """Return the encoder in a file, ready for use: windows (n, 1000) to representations.

    ``path`` is a file, a folder as model hubs lay it out, or ``hf://owner/name``; without it, it
    is the encoder that is shipped with the package. The encoder must reproduce the test vector in
    its file. Whether your windows are filtered and normalised as it expects cannot be seen here;
    ``deaps embed`` checks it.

    Raises
    ------
    EncoderFileError
        If the file was changed, or expects windows that this program does not make.
    """
    from safetensors.torch import load_file

    file = encoder_file(path)
    about = read_about(file)
    _check_digest(file)
    _check_contract(file, about)
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


def _check_contract(file: Path, about: dict[str, str]) -> None:
    """Raise EncoderFileError if an encoder expects what this program does not do."""
    contract = read_contract(file)
    if contract is None:
        return
    if unserved := contract.unserved():
        raise EncoderFileError(
            f"{file} expects other windows than this program makes: {'; '.join(unserved)}. Use the "
            "version of deaps that trained it, or another encoder"
        )
    if VECTOR_KEY not in about:
        raise EncoderFileError(
            f"{file} has a contract but no test vector, so it cannot be checked; copy it again, or "
            "run deaps train"
        )


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
    try:
        missed_by = vector_error(module, about[VECTOR_KEY])
    except ValueError as error:
        raise EncoderFileError(f"{file}: its test vector cannot be read ({error})") from None
    if not missed_by <= TOLERANCE:
        raise EncoderFileError(
            f"{file} does not reproduce its test vector: it differs by {missed_by:.1e} of the "
            f"largest number, allowed is {TOLERANCE:.0e}. The file was changed, or torch computes "
            "otherwise here"
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


HUB_PREFIX = "hf://"
WEIGHTS_NAME = "model.safetensors"
SHIPPED = Path(__file__).parent / "pretrained" / "deaps-open"
"""The folder of the encoder that comes with the package."""

_NAME = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")


def fetch_from_hub(name: str) -> Path:
    """Return the file of an encoder on the Hugging Face hub, fetched unless it is in its cache.

    Parameters
    ----------
    name
        ``hf://owner/name``, or ``hf://owner/name@revision``.

    Raises
    ------
    DeapsError
        If the name is none, or the hub does not give the file.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise DeapsError(f"{name!r} names no encoder; expected hf://owner/name[@revision]")
    require_extra("hub", "huggingface_hub")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    repository, revision = match.groups()
    try:
        return Path(hf_hub_download(repository, WEIGHTS_NAME, revision=revision))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise DeapsError(
            f"{name}: the hub did not give {WEIGHTS_NAME} ({type(error).__name__}). Check the name "
            "and the network, or download the folder and give its path"
        ) from None
