"""What an encoder expects of its windows, and a window that shows whether it works as it did.

Both lie in the metadata of its file. Loading it raises an error about what does not fit, instead
of giving representations that mean nothing.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from storage.config import Normalisation
from storage.schema import FS, WINDOW_SAMPLES

if TYPE_CHECKING:
    from torch import nn

    from storage.snapshot import Chain

CONTRACT_KEY = "contract"
VECTOR_KEY = "test_vector"
TOLERANCE = 1e-5
"""By how much of its largest number an encoder may miss its test vector: other processors add in
another order, and float32 has seven digits whatever the size of a number."""

CONTRACT_VERSION = 2
"""Raise this when an older program would misread a contract; another key alone is no reason."""

CHAIN = (
    "gaps bridged; resampled to 100 Hz by scipy.signal.resample_poly; Butterworth high-pass "
    "forward and backward; cut into windows from the start"
)
_FILTER = ("highpass_hz", "highpass_order", "fix_polarity")
"""Settings of the signal chain that an encoder depends on."""

_BEAT_WIDTH_S = 0.012
_BEATS_S = np.arange(0.4, 10, 0.83)


class ContractHead(BaseModel):
    """The part of a contract that stays readable whatever later versions add or change."""

    version: int


class Contract(BaseModel):
    """What an encoder was trained on, as far as a user must do the same."""

    model_config = ConfigDict(frozen=True)  # keys that it does not know are left alone

    version: int = CONTRACT_VERSION
    fs: int = FS
    window_samples: int = WINDOW_SAMPLES
    chain: str = CHAIN
    algorithms: tuple[int, ...] = (1,)
    """Versions of the signal chain that made its windows; files without them are of the first."""
    highpass_hz: float
    highpass_order: int
    fix_polarity: bool
    leads: tuple[str, ...]
    """Labels that choose the lead of a file, such as an EDF, the preferred first. Data sets with
    a lead of their own do not use them: ``channels`` has what was really read."""
    channels: dict[str, tuple[str, ...]] | None = None
    """Labels of the leads that it was trained on, by data set; None if they were not recorded."""
    normalise: Normalisation
    trained_on: str | None = None
    """Digest of the people and recordings; None if they were not recorded."""
    synthetic: bool | None = None
    """Whether it saw synthetic data; None if that was not recorded."""

    others: tuple[dict[str, Any], ...] = ()
    """Filters of further windows that it was trained on; empty unless chains were mixed."""

    @classmethod
    def of_windows(
        cls,
        chains: Sequence[Chain],
        *,
        leads: Mapping[str, Any],
        channels: Mapping[str, tuple[str, ...]],
        normalise: Normalisation,
        trained_on: str | None,
        synthetic: bool | None,
    ) -> Contract:
        """Return the contract of an encoder trained on windows of these chains.

        ``leads`` are the settings by which the lead of a file is chosen.
        """
        filters = [{key: chain.settings["signal"][key] for key in _FILTER} for chain in chains]
        return cls(
            **filters[0],
            algorithms=tuple(sorted({chain.version for chain in chains})),
            others=tuple(other for other in filters[1:] if other != filters[0]),
            leads=(*leads["channels"], *leads.get("channels_add", ())),
            channels=dict(channels),
            normalise=normalise,
            trained_on=trained_on,
            synthetic=synthetic,
        )

    def unserved(self) -> list[str]:
        """Return what in it this program never does, a phrase each."""
        phrases = []
        if (self.fs, self.window_samples) != (FS, WINDOW_SAMPLES):
            phrases.append(
                f"windows have {WINDOW_SAMPLES} samples at {FS} Hz, "
                f"not {self.window_samples} at {self.fs} Hz"
            )
        if self.chain != CHAIN:
            phrases.append(f"the signal chain is {CHAIN!r}, not {self.chain!r}")
        return phrases

    def contradictions(self, chain: Chain) -> list[str]:
        """Return what in the chain that made windows contradicts it, a phrase each.

        Leads are no matter of contradiction: a user's own recordings may name the same lead
        otherwise. Nor is the normalisation: windows are normalised when they are read.
        """
        if not chain.settings:
            return ["its windows were made before settings were kept: run deaps preprocess"]
        signal = {key: chain.settings["signal"][key] for key in _FILTER}
        unlike = [
            f"signal.{key} is {signal[key]}, not {getattr(self, key)}"
            for key in _FILTER
            if signal[key] != getattr(self, key) and signal not in self.others
        ]
        if chain.version not in self.algorithms:
            unlike.append(
                f"the signal chain's version is {chain.version}, not {_listed(self.algorithms)}"
            )
        return unlike + self.unserved()


def _listed(versions: Collection[int]) -> str:
    return " and ".join(map(str, versions))


def listed_leads(channels: Mapping[str, Sequence[str]] | None) -> str:
    """Return which leads an encoder was trained on, by data set: ``afpdb: ECG0; cpsc2021: II``."""
    if not channels:
        return "not recorded"
    return "; ".join(f"{name}: {', '.join(read) or 'unnamed'}" for name, read in channels.items())


def reference_window() -> NDArray[np.float32]:
    """Return the window that encoders are tested with, (1, 1000): narrow beats on a slow wave."""
    seconds = np.arange(WINDOW_SAMPLES) / FS
    beats = np.exp(-0.5 * ((seconds[:, None] - _BEATS_S) / _BEAT_WIDTH_S) ** 2).sum(axis=1)
    signal = 4 * beats - 0.3 + 0.2 * np.sin(2 * np.pi * 0.25 * seconds)
    return signal.astype(np.float32)[None]


def make_vector(encoder: nn.Module) -> str:
    """Return the test window and what an encoder makes of it, as text."""
    given = reference_window()
    return f"{_packed(given)} {_packed(_answer(encoder, given))}"


def vector_error(encoder: nn.Module, vector: str) -> float:
    """Return by how much an encoder misses a test vector, see `largest_difference`."""
    given, expected = unpack_vector(vector)
    answer = _answer(encoder, given)
    if answer.shape != expected.shape:
        raise ValueError(f"the test vector has {expected.size} numbers, not {answer.size}")
    return largest_difference(answer, expected)


def largest_difference(actual: NDArray[np.float32], expected: NDArray[np.float32]) -> float:
    """Return the largest difference as a share of the largest expected number."""
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def unpack_vector(vector: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the window, (1, 1000), and the representation, (1, d), of a test vector.

    Raises
    ------
    ValueError
        If the text is no test vector.
    """
    given, expected = (_unpacked(text) for text in vector.split())
    if given.size != WINDOW_SAMPLES:
        raise ValueError(f"the test window has {given.size} samples, not {WINDOW_SAMPLES}")
    return given.reshape(1, -1), expected.reshape(1, -1)


def _answer(encoder: nn.Module, window: NDArray[np.float32]) -> NDArray[np.float32]:
    import torch

    # A copy on the CPU: the training goes on undisturbed, and every machine has a CPU.
    copy = deepcopy(encoder).cpu().float().eval()
    with torch.inference_mode():
        answer: NDArray[np.float32] = copy(torch.from_numpy(window)).numpy()
    return answer


def _packed(values: NDArray[np.float32]) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def _unpacked(text: str) -> NDArray[np.float32]:
    return np.frombuffer(base64.b64decode(text), "<f4").astype(np.float32)
