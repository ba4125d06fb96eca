"""Two scorings of one recording, compared."""

from __future__ import annotations

from collections import Counter

from preprocessing.scoring.draft import ScoringDraft, StageSpan
from preprocessing.scoring.fitting import EPOCH_S

_TOLERANCE_S = 0.1
"""The two programs round times to a tenth of a second."""


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
