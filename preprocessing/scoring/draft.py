"""A scoring while it is read: spans in seconds, then the arrays that the store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from storage.schema import OldStage, Scoring, Stage

_STAGES, _OLD_STAGES = list(Stage), list(OldStage)
_JOINED = {
    OldStage.S1: Stage.N1,
    OldStage.S2: Stage.N2,
    OldStage.S3: Stage.N3,
    OldStage.S4: Stage.N3,
} | {OldStage(name): Stage(name) for name in ("W", "REM", "movement", "unscored")}


class StageSpan(NamedTuple):
    """A stretch of one stage; ``old_stage`` is None where the scorer named no older stage."""

    start_s: float
    duration_s: float
    stage: Stage
    old_stage: OldStage | None = None


class ScoredEvent(NamedTuple):
    """An event of one kind, `storage.schema.EventKind` or a name of one's own."""

    start_s: float
    duration_s: float
    kind: str


@dataclass(slots=True)
class ScoringDraft:
    """What a file says, in any order, with notes for people."""

    stages: list[StageSpan] = field(default_factory=list)
    events: list[ScoredEvent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_old_stage(self, start_s: float, duration_s: float, old_stage: OldStage) -> None:
        """Add a stage of Rechtschaffen & Kales: 3 and 4 are both N3."""
        stage = joined(old_stage)
        self.stages.append(StageSpan(start_s, duration_s, stage, old_stage))

    def add_reading_notes(self, *, unknown_stages: int, without_times: int) -> None:
        """Note what of a file could not be used."""
        if unknown_stages:
            self.notes.append(f"{unknown_stages} stages of an unknown code: left out")
        if without_times:
            self.notes.append(f"{without_times} events without start or duration: left out")

    def merged_stages(self) -> list[StageSpan]:
        """Return the stages in order, neighbours of one stage joined to one span."""
        spans: list[StageSpan] = []
        start_s = end_s = 0.0
        names: tuple[Stage, OldStage | None] | None = None
        for span in sorted(self.stages):
            if names != span[2:] or end_s != span.start_s:
                if names is not None:
                    spans.append(StageSpan(start_s, end_s - start_s, *names))
                start_s, names = span.start_s, span[2:]
            end_s = span.start_s + span.duration_s
        return spans if names is None else [*spans, StageSpan(start_s, end_s - start_s, *names)]

    def is_empty(self) -> bool:
        """Return whether there is neither stage nor event."""
        return not (self.stages or self.events)


def joined_drafts(drafts: Sequence[ScoringDraft]) -> ScoringDraft:
    """Return what several drafts of one recording say together."""
    joint = ScoringDraft()
    for draft in drafts:
        joint.stages += draft.stages
        joint.events += draft.events
        joint.notes += draft.notes
    return joint


def joined(old_stage: OldStage) -> Stage:
    """Return the newer stage of an older one."""
    return _JOINED[old_stage]


def to_scoring(draft: ScoringDraft) -> Scoring:
    """Return the arrays of a draft, in order of time."""
    stages, events = draft.merged_stages(), sorted(draft.events)
    kinds = tuple(sorted({event.kind for event in events}))
    place = {kind: k for k, kind in enumerate(kinds)}
    return Scoring(
        stage_start_s=np.array([span.start_s for span in stages], np.float64),
        stage_duration_s=np.array([span.duration_s for span in stages], np.float64),
        stage=np.array([_STAGES.index(span.stage) for span in stages], np.int8),
        old_stage=np.array([_old_code(span) for span in stages], np.int8),
        event_start_s=np.array([event.start_s for event in events], np.float64),
        event_duration_s=np.array([event.duration_s for event in events], np.float64),
        kind=np.array([place[event.kind] for event in events], np.int16),
        kinds=kinds,
        notes=tuple(draft.notes),
    )


def _old_code(span: StageSpan) -> int:
    return -1 if span.old_stage is None else _OLD_STAGES.index(span.old_stage)
