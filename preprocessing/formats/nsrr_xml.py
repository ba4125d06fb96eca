"""NSRR's XML scorings: ``PSGAnnotation`` with one ``ScoredEvent`` for each stage and event.

Written from the files' public description; the clock time of an element is not read.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from preprocessing.formats.safe_xml import read_elements
from preprocessing.scoring.draft import ScoredEvent, ScoringDraft
from preprocessing.scoring.words import OLD_STAGE_CODES, kind_of

_ROOT, _EVENT = "PSGAnnotation", "ScoredEvent"
_START = "Recording Start Time"
_kind_of = cache(kind_of)


def read_nsrr_xml(path: Path) -> ScoringDraft:
    """Return stages and events of one night.

    Raises
    ------
    preprocessing.formats.safe_xml.XmlError
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
            draft.events.append(ScoredEvent(start_s, duration_s, _kind_of(concept)))
    draft.add_reading_notes(unknown_stages=unknown, without_times=odd)
    return draft
