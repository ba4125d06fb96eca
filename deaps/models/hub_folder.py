"""An encoder as a folder in the layout of model hubs: config.json, model.safetensors, a card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from deaps.models.contract import CONTRACT_KEY, listed_leads
from deaps.models.encoder_file import encoder_file, load_encoder, read_about
from deaps.models.hub import WEIGHTS_NAME
from storage.errors import DeapsError
from storage.files import file_sha256

CONFIG_NAME = "config.json"
CARD_NAME = "README.md"

_CARD = """---
library_name: deaps
tags: [ecg, self-supervised, {method}]
---
# {title}

An encoder trained with {method}: 10 s of a single-lead ECG at 100 Hz to {width} numbers.
{synthetic}
```python
import deaps
encoder = deaps.load_encoder("this-folder")  # or hf://owner/name
```

| | |
| --- | --- |
| file | `{weights}`, SHA-256 `{sha256}` |
| input | (n, 1000): 10 s at 100 Hz; {chain} |
| high-pass | {highpass} |
| leads | {leads} |
| normalised by | {normalise} |
| run | `{run}`, step {step} |
| trained on | digest `{trained_on}` |

Say here what it was trained on, under which licence, how it was chosen, and how far it is from a
random encoder, from classical features and from six RR numbers.
"""


def write_hub_folder(encoder: Path | str | None, folder: Path) -> Path:
    """Write an encoder's folder and return it; a card that is there already is left alone.

    Raises
    ------
    DeapsError
        If the encoder has no contract, or cannot be loaded.
    """
    file = encoder_file(encoder)
    about = read_about(file)
    if CONTRACT_KEY not in about:
        raise DeapsError(f"{file} has no contract, so nobody could use it rightly; train it anew")
    load_encoder(file)  # whole, and true to its test vector
    folder.mkdir(parents=True, exist_ok=True)
    config = hub_config(about)
    shutil.copyfile(file, folder / WEIGHTS_NAME)
    text = json.dumps(config, indent=1, sort_keys=True) + "\n"
    (folder / CONFIG_NAME).write_text(text, encoding="utf-8")
    if not (folder / CARD_NAME).exists():
        (folder / CARD_NAME).write_text(_card(about, config, folder), encoding="utf-8")
    return folder


def hub_config(about: dict[str, str]) -> dict[str, Any]:
    """Return what ``config.json`` says: architecture, settings and contract."""
    names = ("architecture", "method", "run", "snapshot", "step")
    return {name: about[name] for name in names if name in about} | {
        "model_type": "deaps",
        "settings": json.loads(about["settings"]),
        "contract": json.loads(about[CONTRACT_KEY]),
    }


def _card(about: dict[str, str], config: dict[str, Any], folder: Path) -> str:
    contract = config["contract"]
    made_up = "\n**It was trained on synthetic data: it says nothing about people.**\n"
    return _CARD.format(
        title=folder.name,
        method=about.get("method", "unknown"),
        width=128 if about["architecture"] == "encoder" else "a row of",
        synthetic=made_up if contract["synthetic"] else "",
        weights=WEIGHTS_NAME,
        sha256=file_sha256(folder / WEIGHTS_NAME),
        chain=contract["chain"],
        highpass=f"{contract['highpass_hz']} Hz, order {contract['highpass_order']}",
        leads=listed_leads(contract.get("channels")),
        normalise=contract["normalise"],
        run=about.get("run", "unknown"),
        step=about.get("step", "unknown"),
        trained_on=contract["trained_on"] or "not recorded",
    )
