"""Where features come from: a trained encoder, a random one, classical measures, the rhythm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from deaps.config import EncoderSettings
from deaps.embed import embed_windows
from deaps.floors.classical import classical_features
from deaps.floors.rr import rr_features
from deaps.models.encoder import Encoder
from deaps.models.encoder_file import encoder_file, load_encoder, normalisation_of
from storage.config import Normalisation
from storage.files import digest_of, file_sha256
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
        """Return a digest of all that the features depend on, beside the windows."""
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
