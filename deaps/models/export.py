"""An encoder in the formats of others: a model hub's folder, and ONNX."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deaps.models.contract import (
    CONTRACT_KEY,
    TOLERANCE,
    VECTOR_KEY,
    largest_difference,
    listed_leads,
    unpack_vector,
)
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import WEIGHTS_NAME, encoder_file, load_encoder, read_about
from storage.errors import DeapsError
from storage.files import file_sha256, replacing
from storage.packages import require_extra
from storage.schema import WINDOW_SAMPLES

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
        raise DeapsError(f"{file} has no contract, so it cannot be used correctly; train it again")
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


_WINDOWS_COMPARED = 5


def export_onnx(encoder: Path | str | None, out: Path) -> float:
    """Write an encoder as ONNX: ``windows`` (n, 1000) to ``representations`` (n, d).

    Returns the largest difference from torch on random windows, as a share of the largest number.

    Raises
    ------
    DeapsError
        If that is more than 1e-5, if the test vector is missed by more, or if the packages for ONNX
        are not installed; nothing is written.
    """
    require_extra("onnx", "onnx", "onnxscript", "onnxruntime")
    file = encoder_file(encoder)
    module = _Unchunked(load_encoder(file))
    example = torch.randn(2, WINDOW_SAMPLES)
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter warns of its own deprecations
        torch.onnx.export(
            module,
            (example,),
            temporary,
            input_names=["windows"],
            output_names=["representations"],
            dynamic_shapes=({0: torch.export.Dim("n", min=1)},),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        difference = _difference(module, temporary)
        _check_vector(file, temporary)
        if not difference <= TOLERANCE:
            raise DeapsError(
                f"the ONNX encoder differs from torch by {difference:.1e} of the largest number; "
                f"at most {TOLERANCE:.0e} is allowed, so that nothing was written"
            )
    return difference


class _Unchunked(torch.nn.Module):
    """An encoder without its chunks: a graph cannot depend on the number of windows."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        encode = self.encoder.encode if isinstance(self.encoder, Encoder) else self.encoder
        result: torch.Tensor = encode(windows)
        return result


def _check_vector(encoder: Path, path: Path) -> None:
    """Refuse an ONNX file that does not reproduce the encoder's test vector."""
    import onnxruntime

    vector = read_about(encoder).get(VECTOR_KEY)
    if vector is None:
        return
    given, expected = unpack_vector(vector)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (actual,) = session.run(None, {"windows": given})
    missed_by = largest_difference(actual, expected)
    if not missed_by <= TOLERANCE:
        raise DeapsError(
            f"the ONNX encoder misses the test vector by {missed_by:.1e} of its largest number; "
            f"allowed is {TOLERANCE:.0e}, so that nothing was written"
        )


def _difference(module: torch.nn.Module, path: Path) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    windows = np.random.default_rng(0).normal(size=(_WINDOWS_COMPARED, WINDOW_SAMPLES))
    given = windows.astype(np.float32)
    (actual,) = session.run(None, {"windows": given})
    with torch.inference_mode():
        expected = module(torch.from_numpy(given)).numpy()
    return largest_difference(actual, expected)
