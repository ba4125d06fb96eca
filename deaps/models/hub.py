"""Encoders on a model hub."""

from __future__ import annotations

import re
from pathlib import Path

from storage.errors import DeapsError
from storage.packages import require_extra

HUB_PREFIX = "hf://"
WEIGHTS_NAME = "model.safetensors"
SHIPPED = Path(__file__).parent / "pretrained" / "deaps-open"
"""The folder of the encoder that comes with the package."""

_NAME = re.compile(r"hf://([\w.-]+/[\w.-]+)(?:@([\w./-]+))?")


class HubError(DeapsError):
    """An encoder that a model hub does not give; the message says what to do."""


def fetch_from_hub(name: str) -> Path:
    """Return the file of an encoder on the Hugging Face hub, fetched unless it is in its cache.

    Parameters
    ----------
    name
        ``hf://owner/name``, or ``hf://owner/name@revision``.

    Raises
    ------
    HubError
        If the name is none, or the hub does not give the file.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise HubError(f"{name!r} names no encoder; expected hf://owner/name[@revision]")
    require_extra("hub", "huggingface_hub")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    repository, revision = match.groups()
    try:
        return Path(hf_hub_download(repository, WEIGHTS_NAME, revision=revision))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise HubError(
            f"{name}: the hub did not give {WEIGHTS_NAME} ({type(error).__name__}). Check the name "
            "and the network, or download the folder and give its path"
        ) from None
