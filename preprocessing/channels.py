"""Choice of the ECG lead by its name, never by its position."""

from __future__ import annotations

from collections.abc import Sequence

from preprocessing.recording import UnreadableRecordingError

ECG_ALIASES = (
    "ECG", "EKG", "ECG1", "EKG1", "ECG 1", "EKG 1", "ECG I", "EKG I", "ECG-I", "ECG II", "EKG II",
    "ECG2", "EKG2", "ECG 2", "EKG 2", "MLII", "II", "I", "ECGL", "ECG L", "EKG L", "ECG-LA", "ECG0",
    "ECG EKG", "ECG-REF", "EKG-REF", "ECG1-REF", "ECG LEAD II", "ECG II-REF",
    "ECG LA-RA", "EKG LA-RA", "ECG V1", "ECG V2", "ECG V5", "ECG1-ECG2", "EKG1-EKG2", "ECG L-ECG R",
    "ECGL-ECGR", "V5", "V2", "V1",
)  # fmt: skip
"""Labels that polysomnographs and Holter recorders give to an ECG lead, the preferred first."""


def canonical(label: str) -> str:
    """Return a label in capitals, without outer spaces and with single inner ones."""
    return " ".join(label.upper().split())


def pick_channel(
    labels: Sequence[str], aliases: Sequence[str] = ECG_ALIASES
) -> tuple[int, str | None]:
    """Return the index of the lead whose label comes first in ``aliases``, and a note or None.

    Raises
    ------
    UnreadableRecordingError
        If no label is an alias; the message lists the labels.
    """
    names = [canonical(label) for label in labels]
    wanted = [canonical(alias) for alias in aliases]
    present = [alias for alias in wanted if alias in names]
    if not present:
        shown = ", ".join(sorted({label.strip() for label in labels})) or "none"
        raise UnreadableRecordingError(f"no ECG channel: channels are {shown}")
    index = names.index(present[0])
    candidates = [labels[i].strip() for i, name in enumerate(names) if name in present]
    if len(candidates) == 1:
        return index, None
    chosen = labels[index].strip()
    return index, f"{len(candidates)} ECG channels ({', '.join(candidates)}); read {chosen}"
