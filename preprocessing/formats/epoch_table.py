"""A table of stages and events for many files: columns file, start_s, duration_s and event."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from preprocessing.cohort_csv import read_table
from preprocessing.scoring.draft import ScoredEvent, ScoringDraft, StageSpan
from preprocessing.scoring.words import own_kind_of, stage_of
from storage.schema import OldStage

EPOCH_COLUMNS = ("file", "start_s", "duration_s", "event")


def read_epoch_table(path: Path) -> tuple[dict[str, ScoringDraft], list[str]]:
    """Return the scoring of each file that a table names, and warnings on the whole table."""
    stat = path.stat()
    return _read(path, stat.st_size, stat.st_mtime_ns, stat.st_ino)


@lru_cache(maxsize=2)  # a worker asks for one file's rows at a time, thousands of times
def _read(path: Path, *_: int) -> tuple[dict[str, ScoringDraft], list[str]]:
    table = read_table(path, EPOCH_COLUMNS)
    rows, warnings = table.rows, table.warnings
    for column in table.ambiguous:
        rows = []
        warnings.append(f"{path.name}: two columns {column} differ; not used, remove one")
    drafts: dict[str, ScoringDraft] = {}
    odd = 0
    for row in rows:
        try:
            start_s, duration_s = float(row["start_s"]), float(row["duration_s"])
            name, event = row["file"], row["event"]
        except (KeyError, ValueError):
            odd += 1
            continue
        _add(drafts.setdefault(name, ScoringDraft()), start_s, duration_s, event)
    if odd:
        warnings.append(f"{path.name}: {odd} rows without a start or a duration in numbers")
    return drafts, warnings


def _add(draft: ScoringDraft, start_s: float, duration_s: float, event: str) -> None:
    stage = stage_of(event)
    if isinstance(stage, OldStage):
        draft.add_old_stage(start_s, duration_s, stage)
    elif stage is not None:
        draft.stages.append(StageSpan(start_s, duration_s, stage))
    else:
        draft.events.append(ScoredEvent(start_s, duration_s, own_kind_of(event)))
