"""The scoring of a night of SHHS: two files, compared, beside the length of the signal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from preprocessing.formats.nsrr_xml import read_nsrr_xml
from preprocessing.formats.profusion_xml import read_profusion_xml
from preprocessing.formats.safe_xml import XmlError
from preprocessing.scoring.comparison import difference_note
from preprocessing.scoring.draft import ScoringDraft, to_scoring
from preprocessing.scoring.fitting import fit_scoring
from storage.schema import Scoring

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
