"""Sleep annotations of the MIT-BIH Polysomnographic Database: ``.st`` files of WFDB records.

Each annotation is about the 30 s that follow it: a stage, and codes of what happened in them. When
it happened within them is not said, so an event has the whole epoch as its time. Written from the
description on PhysioNet's page of the database.
"""

from __future__ import annotations

from pathlib import Path

from preprocessing.formats.wfdb_annotations import read_annotation_texts
from preprocessing.formats.wfdb_header import read_wfdb_header
from preprocessing.scoring.draft import ScoredEvent, ScoringDraft
from preprocessing.scoring.fitting import EPOCH_S
from storage.schema import EventKind, OldStage

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
