"""Rhythm annotations: from changes in time to one label per window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from preprocessing.recording import RhythmChange
from storage.schema import WINDOW_S

KNOWN_RHYTHMS = frozenset({
    "AB", "AFIB", "AFL", "AT", "B", "BI", "BII", "BIII", "IVR", "J", "N", "NOD", "NSR", "P", "PAT",
    "PREX", "SAB", "SBR", "ST", "SVTA", "T", "VF", "VFL", "VT",
})  # fmt: skip
"""Rhythm codes of PhysioNet's annotation files, without the opening bracket."""


def rhythm_changes(
    texts: Iterable[tuple[float, str]],
) -> tuple[tuple[RhythmChange, ...], tuple[str, ...]]:
    """Return the rhythm changes among annotations (seconds, text), and notes on odd ones.

    Texts end with a NUL in the files; only those with an opening bracket name a rhythm.
    """
    changes, n_unknown = [], 0
    for time_s, raw in texts:
        note = raw.rstrip("\0").strip()
        if not note.startswith("("):
            continue
        rhythm = note[1:]
        if rhythm not in KNOWN_RHYTHMS:
            n_unknown += 1
        changes.append(RhythmChange(time_s, rhythm if rhythm in KNOWN_RHYTHMS else None))
    # Not quoted: it is free text, which may name people.
    notes = [f"unknown rhythm ({n_unknown}x): label left out"] if n_unknown else []
    return tuple(sorted(changes, key=lambda change: change.start_s)), tuple(notes)


def label_windows(
    changes: Sequence[RhythmChange], n_windows: int
) -> tuple[list[str | None], NDArray[np.float32]]:
    """Return for each window the rhythm that covers most of it, and the share that it covers.

    Only a label with share 1 describes its whole window. Before the first change the
    rhythm is unknown; where the unknown covers most, the label is None and the share NaN.
    """
    labels: list[str | None] = [None] * n_windows
    shares = np.full(n_windows, np.nan, dtype=np.float32)
    if not changes:
        return labels, shares
    ends = [change.start_s for change in changes[1:]] + [float(n_windows * WINDOW_S)]
    covered: list[dict[str | None, float]] = [{} for _ in range(n_windows)]
    for change, end in zip(changes, ends, strict=True):
        _add_cover(covered, change.rhythm, change.start_s, min(end, n_windows * WINDOW_S))
    for k, cover in enumerate(covered):
        cover[None] = cover.get(None, 0.0) + WINDOW_S - sum(cover.values())
        label = max(cover, key=lambda rhythm: cover[rhythm])
        if label is not None:
            labels[k], shares[k] = label, min(1.0, cover[label] / WINDOW_S)
    return labels, shares


def _add_cover(
    covered: list[dict[str | None, float]], rhythm: str | None, start_s: float, end_s: float
) -> None:
    for k in range(int(start_s // WINDOW_S), int(np.ceil(end_s / WINDOW_S))):
        overlap = min(end_s, (k + 1) * WINDOW_S) - max(start_s, k * WINDOW_S)
        if overlap > 0:
            covered[k][rhythm] = covered[k].get(rhythm, 0.0) + overlap
