"""WFDB annotation files: codes with times, texts, and sleep stages written as texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from preprocessing.formats.numbers import parse_number
from preprocessing.formats.wfdb_header import read_wfdb_header
from preprocessing.plausibility import require_memory
from preprocessing.recording import UnreadableRecordingError
from preprocessing.scoring import EPOCH_S, ScoredEvent, ScoringDraft
from storage.schema import EventKind, OldStage

_SKIP, _NUMBER, _AUX = 59, 60, 63
_DEFINITION = "## "
_RESOLUTION = re.compile(r"## time resolution: *(?P<rate>\S+)\s*")
_BYTES_PER_BYTE = 70
"""Memory for each byte of a file: its words as numbers, and a text for every two of them."""
_STAGES = {
    "W": OldStage.WAKE,
    "1": OldStage.S1,
    "2": OldStage.S2,
    "3": OldStage.S3,
    "4": OldStage.S4,
    "R": OldStage.REM,
    "MT": OldStage.MOVEMENT,
    "M": OldStage.MOVEMENT,
}
_EVENTS: dict[str, tuple[EventKind, ...]] = {
    "H": (EventKind.HYPOPNEA,),
    "HA": (EventKind.HYPOPNEA, EventKind.AROUSAL),
    "OA": (EventKind.OBSTRUCTIVE_APNEA,),
    "X": (EventKind.OBSTRUCTIVE_APNEA, EventKind.AROUSAL),
    "CA": (EventKind.CENTRAL_APNEA,),
    "CAA": (EventKind.CENTRAL_APNEA, EventKind.AROUSAL),
    "L": (EventKind.LIMB_MOVEMENT,),
    "LA": (EventKind.LIMB_MOVEMENT, EventKind.AROUSAL),
    "A": (EventKind.AROUSAL,),
}


class Annotations(NamedTuple):
    """The texts of a file with their times in seconds, and the time of its last annotation."""

    texts: list[tuple[float, str]]
    last_s: float


def read_annotation_texts(path: Path, fs: float) -> list[tuple[float, str]]:
    """Return the texts of `read_annotations`."""
    return read_annotations(path, fs).texts


def read_annotations(path: Path, fs: float) -> Annotations:
    """Return the time in seconds and the text of every annotation that has one, in file order.

    Times are counted at ``fs``, the record's frames a second, unless the file names a time
    resolution of its own. Texts end with a NUL in the files. Definitions about the file itself
    are left out.

    Raises
    ------
    UnreadableRecordingError
        If the file breaks off, or an annotation stands before the record's start.
    """
    require_memory(_BYTES_PER_BYTE * path.stat().st_size)
    data = path.read_bytes()
    words = np.frombuffer(data, "<u2", len(data) // 2).tolist()
    texts, sample, last, at = [], 0, 0, 0
    while at < len(words) and words[at]:  # a word of 0 ends the file
        code, value = words[at] >> 10, words[at] & 0x3FF
        at += 1
        if code == _SKIP:
            sample += _interval(words[at : at + 2])
            at += 2
        elif code == _AUX:
            length = value & 0xFF
            texts.append((_not_negative(sample), _text(data[2 * at : 2 * at + length], length)))
            at += (length + 1) // 2
        elif code < _NUMBER:
            sample += value
            last = max(last, sample)
    if at >= len(words):  # what follows is not known: the last rhythm would seem to last
        raise UnreadableRecordingError("annotation file has no end: it is cut short")
    rate = _resolution(text for _, text in texts) or fs
    kept = [(sample / rate, text) for sample, text in texts if not text.startswith(_DEFINITION)]
    return Annotations(kept, last / rate)


def _resolution(texts: Iterable[str]) -> float | None:
    """Return how many units of time the file has in a second, None where it does not say."""
    for text in texts:
        if match := _RESOLUTION.fullmatch(text.rstrip("\0")):
            rate = parse_number(match["rate"], "annotation file: its time resolution")
            if rate <= 0:
                raise UnreadableRecordingError(
                    "annotation file: its time resolution is not above 0"
                )
            return rate
    return None


def _interval(words: list[int]) -> int:
    if len(words) < 2:
        raise UnreadableRecordingError("annotation file breaks off inside an annotation")
    interval = words[0] << 16 | words[1]
    return interval - (1 << 32) if interval >= 1 << 31 else interval


def _text(data: bytes, length: int) -> str:
    if len(data) < length:
        raise UnreadableRecordingError("annotation file breaks off inside an annotation")
    return data.decode("latin-1")


def _not_negative(sample: int) -> int:
    if sample < 0:
        raise UnreadableRecordingError("annotation file has an annotation before the record")
    return sample


def read_st_annotations(stem: Path) -> ScoringDraft:
    """Return stages and events of the record ``stem`` (its path without an ending)."""
    fs = read_wfdb_header(stem.with_name(f"{stem.name}.hea")).fs
    draft, unknown = ScoringDraft(), 0
    for time_s, note in read_annotation_texts(stem.with_name(f"{stem.name}.st"), fs):
        # The first annotation of some records is at sample 1: its epoch starts at 0.
        start_s = float(EPOCH_S * int(time_s / EPOCH_S + 1e-9))
        for k, code in enumerate(note.rstrip("\0").split()):
            if k == 0 and code in _STAGES:
                draft.add_old_stage(start_s, float(EPOCH_S), _STAGES[code])
            elif code in _EVENTS:
                draft.events += [ScoredEvent(start_s, EPOCH_S, kind) for kind in _EVENTS[code]]
            else:
                unknown += 1
    if unknown:
        draft.notes.append(f"{unknown} annotations of an unknown code: left out")
    return draft
