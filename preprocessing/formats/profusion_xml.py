"""Compumedics Profusion's XML scorings: events, and one ``SleepStage`` for each epoch.

Written from the files' public description.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from preprocessing.formats.safe_xml import XmlError, read_elements
from preprocessing.scoring.draft import ScoredEvent, ScoringDraft
from preprocessing.scoring.fitting import EPOCH_S
from preprocessing.scoring.words import OLD_STAGE_CODES, kind_of

_ROOT, _EVENT, _STAGE, _EPOCH = "CMPStudyConfig", "ScoredEvent", "SleepStage", "EpochLength"
_kind_of = cache(kind_of)


def read_profusion_xml(path: Path) -> ScoringDraft:
    """Return stages and events of one night.

    Raises
    ------
    preprocessing.formats.safe_xml.XmlError
        If the file cannot be read as a scoring of Profusion.
    """
    draft = ScoringDraft()
    codes: list[str] = []
    epoch_s, odd = float(EPOCH_S), 0
    for element in read_elements(path, _ROOT, (_EVENT, _STAGE, _EPOCH)):
        if element.tag == _STAGE:
            codes.append((element.text or "").strip())
        elif element.tag == _EPOCH:
            epoch_s = _seconds(element.text or "")
        else:
            fields = {child.tag: child.text or "" for child in element}
            try:
                start_s, duration_s = float(fields["Start"]), float(fields["Duration"])
            except (KeyError, ValueError):
                odd += 1
                continue
            kind = _kind_of(fields.get("Name", ""))
            draft.events.append(ScoredEvent(start_s, duration_s, kind))
    stages = [OLD_STAGE_CODES.get(code) for code in codes]
    for k, stage in enumerate(stages):
        if stage is not None:
            draft.add_old_stage(k * epoch_s, epoch_s, stage)
    draft.add_reading_notes(unknown_stages=stages.count(None), without_times=odd)
    return draft


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1 <= seconds <= 600:
        raise XmlError("its epoch length is not 1 to 600 s")
    return seconds
