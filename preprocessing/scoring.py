"""A night's scoring: stages and events of one or more files, fitted to the signal."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy as np

from storage.schema import WINDOW_S, EventKind, OldStage, Scoring, Stage

_STAGES, _OLD_STAGES = list(Stage), list(OldStage)
EPOCH_S = 30
"""Length of an epoch of SHHS and most other scorings."""
_SHOWN_UNIT_S = 3600.0
_TOLERANCE_S = 0.1
"""The two programs round times to a tenth of a second."""
OLD_STAGE_CODES = {
    "0": OldStage.WAKE,
    "1": OldStage.S1,
    "2": OldStage.S2,
    "3": OldStage.S3,
    "4": OldStage.S4,
    "5": OldStage.REM,
    "6": OldStage.MOVEMENT,
    "9": OldStage.UNSCORED,
}
"""Codes of NSRR's and Profusion's stages."""
_STAGE_WORDS: dict[str, Stage | OldStage] = {
    "w": Stage.WAKE, "wake": Stage.WAKE, "awake": Stage.WAKE,
    "n1": Stage.N1, "n2": Stage.N2, "n3": Stage.N3, "r": Stage.REM, "rem": Stage.REM,
    "1": OldStage.S1, "2": OldStage.S2, "3": OldStage.S3, "4": OldStage.S4,
    "s1": OldStage.S1, "s2": OldStage.S2, "s3": OldStage.S3, "s4": OldStage.S4,
    "m": Stage.MOVEMENT, "mt": Stage.MOVEMENT, "movement": Stage.MOVEMENT,
    "movement time": Stage.MOVEMENT,
    "?": Stage.UNSCORED, "unscored": Stage.UNSCORED, "unknown": Stage.UNSCORED,
}  # fmt: skip
"""What stands alone or after "sleep stage" in an EDF+ annotation or a table."""
_EVENT_WORDS: tuple[tuple[str, EventKind], ...] = (
    (r"spo2 artifact|sao2 artifact|artifact", EventKind.ARTIFACT),
    (r"desat", EventKind.DESATURATION),
    (r"respiratory effort related|\brera\b", EventKind.EFFORT_AROUSAL),
    (r"central (sleep )?apn(o)?ea", EventKind.CENTRAL_APNEA),
    (r"mixed (sleep )?apn(o)?ea", EventKind.MIXED_APNEA),
    (r"hypopn(o)?ea", EventKind.HYPOPNEA),
    (r"apn(o)?ea", EventKind.OBSTRUCTIVE_APNEA),
    (r"arousal", EventKind.AROUSAL),
    (r"periodic breathing|cheyne", EventKind.PERIODIC_BREATHING),
    (r"\bplm|limb|leg movement|\blm\b", EventKind.LIMB_MOVEMENT),
)
"""In this order: "obstructive apnea" and a plain "apnea" are what the other apneas left over."""
_PREFIX = re.compile(r"^(sleep[ _]?stage|stage)[ _:]*")
_OWN_KIND = re.compile(r"[a-z][a-z0-9_]{0,31}")


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
    """An event of one kind, `storage.schema.EventKind` or a name of one's own.

    ``drop`` is how far SpO2 falls in a desaturation, in points of per cent, None if not scored.
    """

    start_s: float
    duration_s: float
    kind: str
    drop: float | None = None


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
    stages, events = draft.merged_stages(), sorted(draft.events, key=itemgetter(0, 1, 2))
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
        event_drop=np.array([event.drop for event in events], np.float32),
        notes=tuple(draft.notes),
    )


def _old_code(span: StageSpan) -> int:
    return -1 if span.old_stage is None else _OLD_STAGES.index(span.old_stage)


Span = TypeVar("Span", StageSpan, ScoredEvent)


assert EPOCH_S % WINDOW_S == 0, "a window must lie within one epoch"  # noqa: S101 - our invariant


def fit_scoring(draft: ScoringDraft, duration_s: float, *, truncated: bool) -> ScoringDraft:
    """Return a scoring as far as it belongs to a signal of that length, with notes on the rest.

    Stages of another length than the signal are of another recording, and nothing of them is
    used, unless the signal itself was cut short: their start is then the same.
    """
    notes = list(draft.notes)
    if (length := length_note(draft, duration_s)) is not None:
        notes.append(length if truncated else f"{length}; not used")
        draft = draft if truncated else ScoringDraft()
    fitted = fit_to_signal(ScoringDraft(draft.stages, draft.events), duration_s)
    fitted.notes[:0] = [*notes, *filter(None, [grid_note(fitted)])]
    return fitted


def fit_to_signal(draft: ScoringDraft, duration_s: float) -> ScoringDraft:
    """Return what of the draft lies within the signal, with a note for each thing left out."""
    notes = list(draft.notes)
    stages = _sane(draft.stages, lambda span: span.duration_s > 0)
    events = _sane(draft.events, lambda event: event.duration_s >= 0)
    if odd := len(draft.stages) + len(draft.events) - len(stages) - len(events):
        notes.append(f"{odd} entries with an impossible time: left out")
    separate = _without_overlap(stages)
    if len(separate) != len(stages) or sum(s[1] for s in separate) != sum(s[1] for s in stages):
        notes.append("stages overlap: the later one stands")
    inside = [_cut(span, duration_s) for span in separate if span.start_s < duration_s]
    heard = [event for event in events if event.start_s < duration_s]
    if outside := len(events) - len(heard):
        notes.append(f"{outside} events after the signal's end: left out")
    return ScoringDraft(inside, [_cut(event, duration_s) for event in heard], notes)


def length_note(draft: ScoringDraft, duration_s: float) -> str | None:
    """Return a note if the stages end more than an epoch before or after the signal."""
    end_s = max((span.start_s + span.duration_s for span in draft.stages), default=None)
    if end_s is None or not math.isfinite(end_s) or abs(end_s - duration_s) <= EPOCH_S:
        return None
    # In hours: a note for each length to the second would be a list of all recordings.
    scored, recorded = end_s / _SHOWN_UNIT_S, duration_s / _SHOWN_UNIT_S
    return (
        f"scoring of another length: stages end after {scored:.1f} h, the signal {recorded:.1f} h"
    )


def grid_note(draft: ScoringDraft) -> str | None:
    """Return a note if stages change within windows, which then have the one of most seconds."""
    off = sum(span.start_s % WINDOW_S != 0 for span in draft.stages)
    return f"{off} stages start off the grid of windows" if off else None


def _sane(spans: list[Span], has_length: Callable[[Span], bool]) -> list[Span]:
    return [
        span
        for span in spans
        if math.isfinite(span.start_s)
        and math.isfinite(span.duration_s)
        and span.start_s >= 0
        and has_length(span)
    ]


def _without_overlap(spans: list[StageSpan]) -> list[StageSpan]:
    ordered = sorted(spans)
    shortened = [
        span._replace(duration_s=min(span.duration_s, following.start_s - span.start_s))
        for span, following in pairwise(ordered)
    ]
    return [span for span in [*shortened, *ordered[-1:]] if span.duration_s > 0]


def _cut(span: Span, duration_s: float) -> Span:
    end_s = span.start_s + span.duration_s
    return span._replace(duration_s=duration_s - span.start_s) if end_s > duration_s else span


def difference_note(
    first: ScoringDraft, second: ScoringDraft, names: tuple[str, str]
) -> str | None:
    """Return what two scorings differ in, None where they say the same."""
    epochs = _differing_epochs(first.merged_stages(), second.merged_stages())
    events = _differing_events(first, second)
    if not epochs and not events:
        return None
    counts = ((epochs, "epoch"), (events, "event"))
    differing = [f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts if n]
    return f"{names[0]} and {names[1]} differ in {' and '.join(differing)}; {names[0]}'s is used"


def _differing_epochs(first: list[StageSpan], second: list[StageSpan]) -> int:
    if first == second:
        return 0
    epochs_of_both = [_epochs(first), _epochs(second)]
    n = max(map(len, epochs_of_both))
    padded = [epochs + [None] * (n - len(epochs)) for epochs in epochs_of_both]
    return sum(a != b for a, b in zip(*padded, strict=True))


def _epochs(spans: list[StageSpan]) -> list[object]:
    end_s = max((span.start_s + span.duration_s for span in spans), default=0.0)
    epochs: list[object] = [None] * max(0, round(end_s / EPOCH_S))
    for span in spans:
        first = round(span.start_s / EPOCH_S)
        last = round((span.start_s + span.duration_s) / EPOCH_S)
        epochs[first:last] = [span[2:]] * (last - first)
    return epochs


def _differing_events(first: ScoringDraft, second: ScoringDraft) -> int:
    a, b = (Counter(_rounded(draft)) for draft in (first, second))
    return max(sum((a - b).values()), sum((b - a).values())) if a != b else 0


def _rounded(draft: ScoringDraft) -> list[tuple[int, int, str]]:
    return [
        (round(event.start_s / _TOLERANCE_S), round(event.duration_s / _TOLERANCE_S), event.kind)
        for event in draft.events
    ]


def stage_of(text: str) -> Stage | OldStage | None:
    """Return the stage that a text names, such as "Sleep stage N2", "W" or "REM"; else None."""
    word = _PREFIX.sub("", text.strip().lower()).removesuffix(" sleep").strip()
    return _STAGE_WORDS.get(word)


def kind_of(text: str) -> EventKind:
    """Return the kind of event that a text names; `EventKind.OTHER` if it names none."""
    lowered = text.lower().replace("_", " ")
    for pattern, kind in _EVENT_WORDS:
        if re.search(pattern, lowered):
            return kind
    return EventKind.OTHER


def own_kind_of(text: str) -> str:
    """Return the kind of event in a table of one's own: also a plain word that nobody else uses.

    A text that is no plain word counts as other, because free text may name people.
    """
    kind = kind_of(text)
    word = text.strip().lower().replace(" ", "_")
    return word if kind is EventKind.OTHER and _OWN_KIND.fullmatch(word) else str(kind)
