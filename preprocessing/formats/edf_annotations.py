"""Annotations inside an EDF+ or BDF+ file, as scorers of sleep write them."""

from __future__ import annotations

from pathlib import Path

from preprocessing.formats.edf import read_annotations
from preprocessing.scoring.draft import ScoredEvent, ScoringDraft, StageSpan
from preprocessing.scoring.fitting import EPOCH_S
from preprocessing.scoring.words import kind_of, stage_of
from storage.schema import EventKind, OldStage

_PLUS = (b"EDF+", b"BDF+")


def read_edf_annotations(path: Path) -> ScoringDraft | None:
    """Return stages and events of an EDF+ or BDF+ file; None for a plain EDF or BDF.

    A stage without a length is one epoch. A text that names neither a stage nor a known event is
    counted, and neither kept nor quoted: it may name people.
    """
    with path.open("rb") as file:
        if file.read(256)[192:196] not in _PLUS:
            return None
    draft, unknown = ScoringDraft(), 0
    for onset, duration, text in read_annotations(path):
        if (stage := stage_of(text)) is not None:
            length = duration or float(EPOCH_S)
            if isinstance(stage, OldStage):
                draft.add_old_stage(onset, length, stage)
            else:
                draft.stages.append(StageSpan(onset, length, stage))
        elif (kind := kind_of(text)) is not EventKind.OTHER:
            draft.events.append(ScoredEvent(onset, duration or 0.0, kind))
        else:
            unknown += 1
    if unknown:
        draft.notes.append(f"{unknown} annotations in other words: left out")
    return draft
