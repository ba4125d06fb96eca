"""The samples of WFDB signal files, block by block, in every format that is not compressed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from preprocessing.formats.three_bytes import signed_24_bits
from preprocessing.formats.wfdb_header import WfdbSignal
from preprocessing.recording import UnreadableRecordingError

COMPRESSED = ("508", "516", "524")

_GROUPS = {
    "8": (1, 1), "16": (1, 2), "24": (1, 3), "32": (1, 4), "61": (1, 2), "80": (1, 1),
    "160": (1, 2), "212": (2, 3), "310": (3, 4), "311": (3, 4),
}  # fmt: skip
"""For each format, how many samples lie in how many bytes."""

_LIKELY_FORMATS = ("16", "212", "24", "32", "80", "310")
"""One format of each size, the most frequent of it."""

_BITS = {"80": 8, "508": 8, "310": 10, "311": 10, "212": 12, "24": 24, "524": 24, "32": 32}
_FRAMES_AT_ONCE = 12 * 40_000
"""A multiple of 12, so that blocks of every format begin at a whole byte."""


def missing_value(fmt: str) -> int | None:
    """Return the digital value that means "no sample"; differences (format 8) have none."""
    return None if fmt == "8" else -(1 << (_BITS.get(fmt, 16) - 1))


def count_frames(
    path: Path, signal: WfdbSignal, per_frame: int, announced: int | None = None
) -> int:
    """Return how many whole frames of ``per_frame`` samples a signal file holds.

    Formats that pack samples pad the last group; what it holds beyond ``announced`` is no sample.
    """
    if signal.fmt not in _GROUPS:
        raise UnreadableRecordingError(f"signal format: {signal.fmt} is unknown")
    samples, n_bytes = _GROUPS[signal.fmt]
    size = max(0, path.stat().st_size - signal.byte_offset)
    # The last group may be cut after a whole sample: 12 of 24 bits lie in 2 of 3 bytes.
    present = int(size * samples / n_bytes) // per_frame
    if announced and size == -(-announced * per_frame // samples) * n_bytes:
        return announced
    return present


def matching_format(path: Path, signal: WfdbSignal, n_samples: int) -> str | None:
    """Return another format in which a file has exactly the size that its header announces.

    None where the file has that size in its own format, or in no format.
    """
    size = path.stat().st_size - signal.byte_offset
    sizes = {fmt: -(-n_samples * n_bytes // n) for fmt, (n, n_bytes) in _GROUPS.items()}
    if size == sizes.get(signal.fmt):
        return None
    return next((fmt for fmt in _LIKELY_FORMATS if sizes[fmt] == size), None)


def read_frames(
    path: Path, signal: WfdbSignal, *, per_frame: int, column: int, n_frames: int
) -> Iterator[NDArray[np.int64]]:
    """Yield blocks (n, samples per frame) of one signal's digital values.

    ``column`` is where its samples begin in a frame of ``per_frame`` samples.
    """
    samples, n_bytes = _GROUPS[signal.fmt]
    carried = np.zeros(signal.samples_per_frame, np.int64) + (signal.initial or 0)
    with path.open("rb") as stream:
        stream.seek(signal.byte_offset)
        for start in range(0, n_frames, _FRAMES_AT_ONCE):
            frames = min(_FRAMES_AT_ONCE, n_frames - start)
            n_groups = -(-frames * per_frame // samples)
            data = stream.read(n_groups * n_bytes).ljust(n_groups * n_bytes, b"\0")
            values = _decode(signal.fmt, data)[: frames * per_frame].reshape(frames, per_frame)
            block = values[:, column : column + signal.samples_per_frame].astype(np.int64)
            if signal.fmt == "8":
                block = _integrate(block, carried)
                carried = np.repeat(block[-1, -1:], signal.samples_per_frame)
            yield block


def _integrate(differences: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
    summed = before[-1] + np.cumsum(differences.reshape(-1))
    return summed.reshape(differences.shape)


def _decode(fmt: str, data: bytes) -> NDArray[np.integer]:
    raw = np.frombuffer(data, np.uint8)
    match fmt:
        case "16":
            return raw.view("<i2")
        case "61":
            return raw.view(">i2")
        case "160":
            return raw.view("<u2").astype(np.int32) - (1 << 15)
        case "8":
            return raw.view(np.int8)
        case "80":
            return raw.astype(np.int16) - (1 << 7)
        case "32":
            return raw.view("<i4")
        case "24":
            return signed_24_bits(raw)
        case "212":
            return _signed(_twelve_bits(raw.reshape(-1, 3)), 12)
        case _:
            return _signed(_ten_bits(fmt, raw.view("<u4").astype(np.int64)), 10)


def _twelve_bits(parts: NDArray[np.uint8]) -> NDArray[np.int32]:
    wide = parts.astype(np.int32)
    first = wide[:, 0] | (wide[:, 1] & 0x0F) << 8
    second = wide[:, 2] | (wide[:, 1] & 0xF0) << 4
    return np.stack([first, second], axis=1).reshape(-1)


def _ten_bits(fmt: str, words: NDArray[np.int64]) -> NDArray[np.int64]:
    if fmt == "311":
        parts = [words, words >> 10, words >> 20]
    else:
        third = (words >> 11 & 0x1F) | (words >> 27 & 0x1F) << 5
        parts = [words >> 1, words >> 17, third]
    return (np.stack(parts, axis=1) & 0x3FF).reshape(-1)


def _signed(values: NDArray[np.integer], bits: int) -> NDArray[np.integer]:
    half = 1 << (bits - 1)
    return (values ^ half) - half
