"""Scorings next to recordings of one's own, read by their formats: XML, Luna's .annot, EDF+."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from preprocessing.formats.edf import read_edf_annotations, read_edf_header
from preprocessing.formats.scoring_xml import XmlError, read_nsrr_xml, read_profusion_xml
from preprocessing.recording import UnreadableRecordingError
from preprocessing.scoring import (
    EPOCH_S,
    ScoredEvent,
    ScoringDraft,
    StageSpan,
    own_kind_of,
    stage_of,
)
from storage.schema import OldStage

_CLOCK = re.compile(r"(?P<elapsed>0\+)?(?P<h>\d{1,2}):(?P<m>\d{2}):(?P<s>\d{2}(?:\.\d+)?)")
_DAY_S = 86_400.0
_XML_START_BYTES = 4096


def looks_like_scoring(path: Path) -> bool:
    """Return whether a file may be a scoring: of XML by its first bytes, because any may be XML."""
    if path.suffix.lower() != ".xml":
        return True
    try:
        with path.open("rb") as file:
            start = file.read(_XML_START_BYTES)
    except OSError:
        return False
    return any(root in start for root in (b"<PSGAnnotation", b"<CMPStudyConfig"))


def read_first_scoring(paths: Sequence[Path], edf: Path | None) -> ScoringDraft:
    """Return the first scoring that has stages or events; an empty one if none of the files has.

    What cannot be read is noted. ``edf`` is the recording, if it has a time of day.
    """
    clock_s = read_edf_header(edf).clock_s if edf else None
    notes = []
    for path in filter(looks_like_scoring, paths):
        try:
            draft = _read(path, clock_s)
        except (XmlError, UnreadableRecordingError):
            notes.append(f"the {path.suffix.lower()} file next to it cannot be read as a scoring")
            continue
        if not draft.is_empty():
            return ScoringDraft(draft.stages, draft.events, [*notes, *draft.notes])
    return ScoringDraft(notes=notes)


def _read(path: Path, clock_s: float | None) -> ScoringDraft:
    match path.suffix.lower():
        case ".xml":
            try:
                return read_nsrr_xml(path)
            except XmlError:
                return read_profusion_xml(path)
        case ".annot":
            return read_annot(path, clock_s)
        case _:
            return _read_hypnogram(path, clock_s)


def _read_hypnogram(path: Path, clock_s: float | None) -> ScoringDraft:
    """Return an EDF+ hypnogram; one that starts at another time of day is moved by it."""
    draft = read_edf_annotations(path) or ScoringDraft()
    start_s = read_edf_header(path).clock_s
    if clock_s is None or start_s is None or start_s == clock_s:
        return draft
    shift = (start_s - clock_s + _DAY_S / 2) % _DAY_S - _DAY_S / 2
    return ScoringDraft(
        [span._replace(start_s=span.start_s + shift) for span in draft.stages],
        [event._replace(start_s=event.start_s + shift) for event in draft.events],
        [*draft.notes, f"scoring starts {shift:g} s after the signal: moved by it"],
    )


def read_annot(path: Path, clock_s: float | None) -> ScoringDraft:
    """Return Luna's annotations: class, instance, channel, start, stop, meta, between tabs.

    Times are seconds, ``0+hh:mm:ss`` from the start, or ``hh:mm:ss`` of the clock; a stop may be
    ``+seconds`` after the start, or ``...`` for the start of the next line.
    """
    draft, odd = ScoringDraft(), 0
    for start_s, stop_s, name in _annot_rows(path, clock_s):
        if start_s is None or stop_s is None or stop_s < start_s:
            odd += 1
            continue
        length_s, stage = stop_s - start_s, stage_of(name)
        if isinstance(stage, OldStage):
            draft.add_old_stage(start_s, length_s or EPOCH_S, stage)
        elif stage is not None:
            draft.stages.append(StageSpan(start_s, length_s or EPOCH_S, stage))
        else:
            draft.events.append(ScoredEvent(start_s, length_s, own_kind_of(name)))
    draft.add_reading_notes(unknown_stages=0, without_times=odd)
    return draft


def _annot_rows(
    path: Path, clock_s: float | None
) -> Iterator[tuple[float | None, float | None, str]]:
    """Yield start, stop and class of each line; None for a time that cannot be read."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    if rows and rows[0][0].strip().lower() == "class":
        del rows[0]
    starts = [_annot_time(row[3], clock_s) if len(row) >= 6 else None for row in rows]
    for place, row in enumerate(rows):
        start_s = starts[place]
        stop_s: float | None = None
        if start_s is not None:
            text = row[4].strip()
            if text == "...":
                stop_s = starts[place + 1] if place + 1 < len(rows) else start_s + EPOCH_S
            elif text.startswith("+"):
                stop_s = _number(text[1:])
                stop_s = None if stop_s is None else start_s + stop_s
            else:
                stop_s = _annot_time(text, clock_s)
                if stop_s is not None and stop_s < start_s and ":" in text:
                    stop_s += _DAY_S
        instance = row[1].strip() if len(row) >= 6 else ""
        name = row[0].strip()
        yield start_s, stop_s, instance if name.lower() in ("stage", "sleepstage") else name


def _annot_time(text: str, clock_s: float | None) -> float | None:
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        return _number(text)
    time_s = 3600 * int(match["h"]) + 60 * int(match["m"]) + float(match["s"])
    if match["elapsed"]:
        return time_s
    return None if clock_s is None else (time_s - clock_s) % _DAY_S


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
