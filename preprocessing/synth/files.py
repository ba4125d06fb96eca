"""Synthetic recordings as files: WFDB and MATLAB."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import wfdb

from preprocessing.synth.physiology.rhythm import KINDS, BeatKind, Beats, Rhythm, Segment
from preprocessing.synth.physiology.shape import Samples

IntArray = npt.NDArray[np.int16]
INT16_LITTLE_ENDIAN = 30


SYMBOLS = tuple("N" if kind is BeatKind.FIBRILLATION else kind.value for kind in KINDS)


@dataclass(frozen=True, slots=True)
class Digitiser:
    """An analogue-digital converter: units per mV, the unit of 0 mV, and the two rails.

    The lowest number of a format means that there is no sample, so a rail lies above it.
    """

    gain: float
    zero: int
    lowest: int
    highest: int

    def digitise(self, mv: Samples) -> IntArray:
        """Return whole units; what lies beyond a rail stays on it."""
        units = np.rint(mv * np.float32(self.gain)) + np.float32(self.zero)
        return np.clip(units, self.lowest, self.highest).astype(np.int16)


def pack16(units: IntArray) -> bytes:
    """Return samples (leads by samples) in format 16: interleaved little-endian words."""
    return units.T.astype("<i2").tobytes()


def pack212(units: IntArray) -> bytes:
    """Return samples (leads by samples) in format 212: two 12-bit numbers in three bytes."""
    flat = units.T.ravel()
    if len(flat) % 2:
        flat = np.append(flat, np.int16(0))
    first, second = (flat.reshape(-1, 2).T & 0xFFF).astype(np.uint16)
    packed = np.empty((len(first), 3), dtype=np.uint8)
    packed[:, 0] = first & 0xFF
    packed[:, 1] = (first >> 8) | ((second >> 8) << 4)
    packed[:, 2] = second & 0xFF
    return packed.tobytes()


def checksum(units: IntArray) -> int:
    """Return the sum of one lead's samples as a signed 16-bit number."""
    return (int(units.sum(dtype=np.int64)) + 0x8000) % 0x10000 - 0x8000


def header(
    first_line: str, signal_start: str, units: IntArray, names: Sequence[str], tail: str = ""
) -> str:
    """Return a header: record line, a line for each signal, and whatever follows.

    ``signal_start`` holds a signal line's fields up to and with the converter's zero, e.g.
    ``100.dat 212 200 11 1024``.
    """
    signals = [
        f"{signal_start} {row[0]} {checksum(row)} 0 {name}"
        for row, name in zip(units, names, strict=True)
    ]
    return "\n".join([first_line, *signals]) + "\n" + tail


def write_annotations(
    folder: Path, name: str, sample: Sequence[int], symbol: Sequence[str], note: Sequence[str]
) -> None:
    """Write ``<name>.atr``; a sampling rate is not put in, as in the real files."""
    wfdb.wrann(
        name,
        "atr",
        np.asarray(sample, dtype=np.int64),
        symbol=list(symbol),
        aux_note=list(note),
        write_dir=str(folder),
    )


def rhythm_notes(
    segments: Sequence[Segment], fs: float, spelling: dict[Rhythm, str] | None = None
) -> list[tuple[int, str, str]]:
    """Return a change of rhythm as (sample, symbol ``+``, note) for each segment.

    The first note comes a little after the start, as in the real files: before it the rhythm is
    unknown.
    """
    names = spelling or {}
    return [
        (round(max(s.start_s, 0.15) * fs), "+", "(" + names.get(s.rhythm, s.rhythm.value))
        for s in segments
    ]


def beat_notes(beats: Beats, fs: float, normal: str = "N") -> list[tuple[int, str, str]]:
    """Return every beat as (sample, symbol, empty note); ``normal`` is L or R in a block."""
    symbols = [normal if s == "N" else s for s in SYMBOLS]
    samples = np.rint(beats.time_s * fs).astype(int).tolist()
    return [(x, symbols[k], "") for x, k in zip(samples, beats.kind.tolist(), strict=True)]


def write_val(path: Path, units: npt.NDArray[np.int16]) -> None:
    """Write the variable ``val``, one row, behind the 24 bytes that the headers skip."""
    start = struct.pack("<5i", INT16_LITTLE_ENDIAN, 1, len(units), 0, len("val") + 1)
    path.write_bytes(start + b"val\0" + units.astype("<i2").tobytes())
