"""A scoring beside its signal: what lies outside, overlaps, or does not fit its length."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

from preprocessing.scoring.draft import ScoredEvent, ScoringDraft, StageSpan
from storage.schema import WINDOW_S

Span = TypeVar("Span", StageSpan, ScoredEvent)

EPOCH_S = 30
"""Length of an epoch of SHHS and most other scorings."""

assert EPOCH_S % WINDOW_S == 0, "a window must lie within one epoch"  # noqa: S101 - our invariant

_SHOWN_UNIT_S = 3600.0


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
