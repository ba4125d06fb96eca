"""Features of windows: what computes them, and their files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from numpy.typing import NDArray
from torch import nn

from deaps.baselines import classical_features, rr_features
from deaps.config import EncoderSettings
from deaps.embed import embed_windows
from deaps.evaluation.examples import Windows
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import encoder_file, load_encoder, normalisation_of
from storage.config import Normalisation
from storage.errors import DeapsError
from storage.files import digest_of, file_sha256, replacing
from storage.packages import installed_versions

_VERSION = 1
"""Raised when the same source would give other features than before."""

_DEFAULTS = EncoderSettings()

_PACKAGES = {"classical": ("neurokit2", "scipy"), "rr": ("sleepecg",)}
"""Whose versions change features that no encoder makes."""


@dataclass(frozen=True, slots=True)
class FeatureSource:
    """What turns windows into features.

    ``encoder`` is the file of a trained encoder; ``settings`` and ``seed`` make a random one. Of
    a run that was brought without its weights, that file is absent and ``sha256`` stands for it.
    """

    kind: Literal["encoder", "shipped", "random", "classical", "rr"]
    normalise: Normalisation
    encoder: Path | None = None
    seed: int = 0
    settings: EncoderSettings = _DEFAULTS
    sha256: str = ""

    @property
    def is_absent(self) -> bool:
        """Whether the weights are not here, so that no new features can be made."""
        return self.encoder is not None and not self.encoder.exists()

    @property
    def encoder_sha256(self) -> str:
        """Digest of the encoder's file, empty without one."""
        return self.sha256 or (file_sha256(self.encoder) if self.encoder else "")

    @property
    def is_network(self) -> bool:
        """Whether a network makes them, which an accelerator does faster."""
        return self.kind in ("encoder", "shipped", "random")

    @classmethod
    def of_shipped(cls) -> FeatureSource:
        """Return the encoder that comes with the package, with the windows that it expects."""
        return cls("shipped", normalisation_of(), encoder_file())

    def digest(self) -> str:
        """Return a digest of all that the features depend on, besides the windows."""
        # Chunks change no feature, and with the defaults the digest is that of earlier versions.
        changed = self.settings.model_dump(exclude={"chunk"}, exclude_defaults=True)
        parts: list[object] = [changed] if changed else []
        if self.kind in _PACKAGES:
            parts.append(installed_versions(_PACKAGES[self.kind]))
        return digest_of(
            _VERSION, self.kind, self.normalise, self.encoder_sha256, self.seed, *parts
        )

    def features(
        self, windows: NDArray[np.float32], *, device: torch.device | str = "cpu"
    ) -> NDArray[np.float32]:
        """Return the features, (n, d), of windows, (n, 1000)."""
        if self.kind == "classical":
            return classical_features(windows)
        if self.kind == "rr":
            return rr_features(windows)
        if self.encoder is not None:
            return embed_windows(_loaded(self.encoder), windows, device=device)
        return embed_windows(random_encoder(self.seed, self.settings), windows, device=device)


def random_encoder(seed: int, settings: EncoderSettings) -> Encoder:
    """Return an encoder with fresh weights, the same for the same seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Encoder(settings)


@lru_cache(maxsize=1)
def _loaded(path: Path) -> nn.Module:
    """Return the encoder in a file; a worker is given one block after the other of it."""
    return load_encoder(path)


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Windows by ascending key, with their features, (m, d)."""

    key: NDArray[np.uint64]
    features: NDArray[np.float32]

    def of(self, windows: Windows) -> NDArray[np.float32]:
        """Return the features of windows, in their order.

        Raises
        ------
        KeyError
            If one of them is not in the table.
        """
        wanted = windows.key
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        if missing := int((self.key[place] != wanted).sum()):
            raise KeyError(f"{missing} of {len(wanted)} windows have no features")
        return self.features[place]


def write_features(path: Path, windows: Windows, features: NDArray[np.float32]) -> None:
    """Write the features of windows, (m, d), and then their digest, without which they are none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        pq.write_table(feature_table(windows, features), temporary)
        digest = file_sha256(temporary)
    with replacing(_digest_path(path)) as temporary:
        temporary.write_text(f"{digest}\n", encoding="ascii")


def has_features(path: Path) -> bool:
    """Return whether a file of features is there, with the bytes that were written."""
    return path.exists() and _noted_digest(path) == file_sha256(path)


def read_features(path: Path) -> FeatureTable:
    """Return the features in a file.

    Raises
    ------
    DeapsError
        If its bytes are not those that were written.
    """
    content = path.read_bytes()
    if _noted_digest(path) != hashlib.sha256(content).hexdigest():
        raise DeapsError(f"{path} is damaged; run deaps evaluate again, which writes it again")
    table = pq.read_table(pa.BufferReader(content))
    contents, rows = (table[name].to_numpy() for name in ("content", "row"))
    values = table["features"].combine_chunks().flatten()
    features = values.to_numpy(zero_copy_only=False).reshape(len(rows), -1)
    key = Windows(np.zeros(len(rows), np.int32), rows, contents).key
    order = np.argsort(key)
    return FeatureTable(key[order], features[order])


def feature_table(windows: Windows, features: NDArray[np.float32]) -> pa.Table:
    """Return features with their windows: the beginning of the recording's digest, and the row.

    Numbers of recordings are of one index, and an index may be rebuilt.
    """
    values = pa.array(np.ascontiguousarray(features).reshape(-1))
    return pa.table(
        {
            "content": pa.array(windows.content, pa.uint64()),
            "row": pa.array(windows.row, pa.int32()),
            "features": pa.FixedSizeListArray.from_arrays(values, features.shape[1]),
        }
    )


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _noted_digest(path: Path) -> str | None:
    try:
        return _digest_path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
