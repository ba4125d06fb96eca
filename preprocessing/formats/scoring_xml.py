"""Scorings as XML, of the NSRR and of Profusion, and as a table of epochs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

from preprocessing.cohort import read_table
from preprocessing.scoring import (
    EPOCH_S,
    OLD_STAGE_CODES,
    ScoredEvent,
    ScoringDraft,
    StageSpan,
    difference_note,
    fit_scoring,
    kind_of,
    own_kind_of,
    stage_of,
    to_scoring,
)
from storage.errors import DeapsError
from storage.schema import OldStage, Scoring

# Its type parameter is what read_events gives, and the class takes none when it is run.
XMLPullParser = Any
_CHUNK_BYTES = 1 << 16
_PROLOG_BYTES = 1 << 8
_MAX_BYTES = 16 << 20
"""A scoring of SHHS has 0.1 to 0.5 MB."""
_ROOT, _EVENT = "PSGAnnotation", "ScoredEvent"
_START = "Recording Start Time"
_kind_of = cache(kind_of)
_PROFUSION_ROOT, _PROFUSION_EVENT, _STAGE, _EPOCH = (
    "CMPStudyConfig",
    "ScoredEvent",
    "SleepStage",
    "EpochLength",
)
EPOCH_COLUMNS = ("file", "start_s", "duration_s", "event")


class XmlError(DeapsError):
    """A file that is no XML, ends too early, or has what a scoring never has."""


def read_elements(path: Path, root: str, tags: Collection[str]) -> Iterator[ElementTree.Element]:
    """Yield each element with one of the ``tags`` at its end, and then empty it.

    The file is read in parts, so that a long one takes little more memory than a short one.

    Raises
    ------
    XmlError
        If it is no XML, is cut short, is in an unknown encoding, declares a document type or has
        another root. The message quotes nothing of the file: free text may name people.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise XmlError(f"it has more than {_MAX_BYTES >> 20} MB")
    parser: XMLPullParser = ElementTree.XMLPullParser(events=("end",))
    last = ""
    with _named_errors():
        for _ in _feed(path, parser):
            # What the parser found wrong with a part, it raises here and not when it is fed.
            for _, element in parser.read_events():
                last = element.tag
                if last in tags:
                    yield element
                    element.clear()
    if last != root:
        raise XmlError(f"its root element is not {root}")


def _feed(path: Path, parser: XMLPullParser) -> Iterator[None]:
    """Hand the file to the parser, part by part, after the guard has seen all before the root."""
    with path.open("rb") as file:
        _check_prolog(file)
        file.seek(0)
        while chunk := file.read(_CHUNK_BYTES):
            parser.feed(chunk)
            yield
    parser.close()
    yield


@contextmanager
def _named_errors() -> Iterator[None]:
    """Turn what a parser raises into an XmlError that quotes nothing of the file."""
    try:
        yield
    except (expat.ExpatError, ElementTree.ParseError) as error:
        raise XmlError(f"not whole XML: {expat.ErrorString(error.code)}") from None
    except (LookupError, UnicodeError, ValueError):  # an encoding that Python does not know
        raise XmlError("not whole XML: unknown encoding") from None


def _check_prolog(file: BinaryIO) -> None:
    """Raise XmlError if what stands before the root element declares a document type.

    It can stand nowhere else, and without one there are no entities to expand or to fetch.
    """
    has_root = False

    def refuse(*_: object) -> int:
        raise XmlError("it declares a document type or an entity")

    def see_root(*_: object) -> None:
        nonlocal has_root
        has_root = True

    guard = expat.ParserCreate()
    guard.StartDoctypeDeclHandler = refuse
    guard.EntityDeclHandler = refuse
    guard.ExternalEntityRefHandler = refuse
    guard.StartElementHandler = see_root
    while not has_root:
        piece = file.read(_PROLOG_BYTES)
        guard.Parse(piece, not piece)
        if not piece:
            return


def read_nsrr_xml(path: Path) -> ScoringDraft:
    """Return stages and events of one night.

    Raises
    ------
    preprocessing.formats.scoring_xml.XmlError
        If the file cannot be read as a scoring of NSRR.
    """
    draft = ScoringDraft()
    unknown = odd = 0
    for element in read_elements(path, _ROOT, (_EVENT,)):
        fields = {child.tag: child.text or "" for child in element}
        try:
            start_s, duration_s = float(fields["Start"]), float(fields["Duration"])
        except (KeyError, ValueError):
            odd += 1
            continue
        concept, _, code = fields.get("EventConcept", "").partition("|")
        if fields.get("EventType", "").startswith("Stages"):
            stage = OLD_STAGE_CODES.get(code.strip())
            unknown += stage is None
            if stage is not None:
                draft.add_old_stage(start_s, duration_s, stage)
        elif concept != _START:
            high, low = _number(fields, "SpO2Baseline"), _number(fields, "SpO2Nadir")
            drop = None if high is None or low is None else high - low
            draft.events.append(ScoredEvent(start_s, duration_s, _kind_of(concept), drop))
    draft.add_reading_notes(unknown_stages=unknown, without_times=odd)
    return draft


def read_profusion_xml(path: Path) -> ScoringDraft:
    """Return stages and events of one night.

    Raises
    ------
    preprocessing.formats.scoring_xml.XmlError
        If the file cannot be read as a scoring of Profusion.
    """
    draft = ScoringDraft()
    codes: list[str] = []
    epoch_s, odd = float(EPOCH_S), 0
    for element in read_elements(path, _PROFUSION_ROOT, (_PROFUSION_EVENT, _STAGE, _EPOCH)):
        if element.tag == _STAGE:
            codes.append((element.text or "").strip())
        elif element.tag == _EPOCH:
            epoch_s = _seconds(element.text or "")
        else:
            fields = {child.tag: child.text or "" for child in element}
            try:
                start_s, duration_s = float(fields["Start"]), float(fields["Duration"])
            except (KeyError, ValueError):
                odd += 1
                continue
            kind, drop = _kind_of(fields.get("Name", "")), _number(fields, "Desaturation")
            draft.events.append(ScoredEvent(start_s, duration_s, kind, drop))
    stages = [OLD_STAGE_CODES.get(code) for code in codes]
    for k, stage in enumerate(stages):
        if stage is not None:
            draft.add_old_stage(k * epoch_s, epoch_s, stage)
    draft.add_reading_notes(unknown_stages=stages.count(None), without_times=odd)
    return draft


def _number(fields: dict[str, str], name: str) -> float | None:
    """Return a number of an event, None if it is not there or is none."""
    try:
        number = float(fields[name])
    except (KeyError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 600:
        raise XmlError("its epoch length is not 1 to 600 s")
    return seconds


def read_epoch_table(path: Path) -> tuple[dict[str, ScoringDraft], list[str]]:
    """Return the scoring of each file that a table names, and warnings on the whole table."""
    stat = path.stat()
    return _read_table(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)


@lru_cache(maxsize=2)  # a worker asks for one file's rows at a time, thousands of times
def _read_table(path: Path, *_: int) -> tuple[dict[str, ScoringDraft], list[str]]:
    table = read_table(path, EPOCH_COLUMNS)
    rows, warnings = table.rows, table.warnings
    for column in table.ambiguous:
        rows = []
        warnings.append(f"{path.name}: two columns {column} differ; not used, remove one")
    drafts: dict[str, ScoringDraft] = {}
    odd = 0
    for row in rows:
        try:
            start_s, duration_s = float(row["start_s"]), float(row["duration_s"])
            name, event = row["file"], row["event"]
        except (KeyError, ValueError):
            odd += 1
            continue
        _add(drafts.setdefault(name, ScoringDraft()), start_s, duration_s, event)
    if odd:
        warnings.append(f"{path.name}: {odd} rows without a start or a duration in numbers")
    return drafts, warnings


def _add(draft: ScoringDraft, start_s: float, duration_s: float, event: str) -> None:
    stage = stage_of(event)
    if isinstance(stage, OldStage):
        draft.add_old_stage(start_s, duration_s, stage)
    elif stage is not None:
        draft.stages.append(StageSpan(start_s, duration_s, stage))
    else:
        draft.events.append(ScoredEvent(start_s, duration_s, own_kind_of(event)))


_NAMES = ("NSRR", "Profusion")


def read_night(
    nsrr: Path | None, profusion: Path | None, *, duration_s: float, truncated: bool
) -> Scoring:
    """Return the scoring of one night, NSRR's where both files have one.

    What is missing or cannot be read is a note. Stages of another length than the signal are
    not used, unless the signal itself was cut short: their start is then the same.
    """
    notes: list[str] = []
    first = _read(nsrr, read_nsrr_xml, _NAMES[0], notes)
    second = _read(profusion, read_profusion_xml, _NAMES[1], notes)
    if first is not None and second is not None:
        notes.append(difference_note(first, second, _NAMES) or "")
    draft = first or second or ScoringDraft()
    noted = ScoringDraft(draft.stages, draft.events, [*filter(None, notes), *draft.notes])
    return to_scoring(fit_scoring(noted, duration_s, truncated=truncated))


def _read(
    path: Path | None, read: Callable[[Path], ScoringDraft], name: str, notes: list[str]
) -> ScoringDraft | None:
    if path is None:
        notes.append(f"no {name} scoring")
        return None
    try:
        draft = read(path)
    except XmlError as error:
        notes.append(f"{name} scoring cannot be read: {error}")
        return None
    except OSError as error:
        notes.append(f"{name} scoring cannot be read: {error.strerror}")
        return None
    if draft.is_empty():
        notes.append(f"{name} scoring is empty")
        return None
    return draft
