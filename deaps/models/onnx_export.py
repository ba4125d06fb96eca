"""An encoder as ONNX, for use without torch."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import torch

from deaps.models.contract import TOLERANCE, VECTOR_KEY, largest_difference, unpack_vector
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import encoder_file, load_encoder, read_about
from storage.errors import DeapsError
from storage.files import replacing
from storage.packages import require_extra
from storage.schema import WINDOW_SAMPLES

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
