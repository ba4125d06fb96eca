"""Stages and events of a recording: read beside its signal, or alone where only they changed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

from flows.ingest.job import Job, stat_source
from flows.ingest.reasons import reason
from preprocessing.config import SCORING_VERSION
from preprocessing.plausibility import reading_memory
from preprocessing.recording import FoundRecording
from storage.files import digest_of, file_sha256
from storage.index.published import PublishedSources
from storage.schema import RecordingRow, Scoring, SourceFile, SourceRole

_ARRAYS = (
    "stage_start_s", "stage_duration_s", "stage", "old_stage", "event_start_s",
    "event_duration_s", "kind",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rescoring:
    """What is new about a recording whose signal is as it was."""

    digest: str | None
    notes: tuple[str, ...]
    sources: tuple[SourceFile, ...]
    checked_at_ns: int
    scoring: Scoring | None

    def apply(self, row: RecordingRow) -> RecordingRow:
        """Return the published row with the new scoring beside the old signal."""
        kept = tuple(source for source in row.sources if source.role != SourceRole.SCORING)
        return replace(
            row,
            scoring_digest=self.digest,
            scoring_notes=self.notes,
            sources=(*kept, *self.sources),
            checked_at_ns=self.checked_at_ns,
            scoring_version=SCORING_VERSION,
        )


def scoring_digest(scoring: Scoring | None) -> str | None:
    """Return the digest of stages and events, None where there are neither.

    It is about content, not files: a table of events that changes for one recording leaves the
    digests of the others.
    """
    if scoring is None or not (len(scoring.stage) or len(scoring.kind)):
        return None
    content = hashlib.sha256()
    for name in _ARRAYS:
        content.update(getattr(scoring, name).tobytes())
    return digest_of(SCORING_VERSION, list(scoring.kinds), content.hexdigest())


def add_scoring(
    job: Job, recording: FoundRecording, row: RecordingRow
) -> tuple[RecordingRow, Scoring | None]:
    """Return the row with what its scoring adds, and the scoring.

    A recording without windows has none; one whose scoring cannot be read keeps its windows.
    """
    row = replace(row, scoring_version=SCORING_VERSION)
    if not row.n_windows or row.duration_s is None:
        return row, None
    scoring, notes = _read(job, recording, row.duration_s, truncated=row.truncated)
    return replace(row, scoring_digest=scoring_digest(scoring), scoring_notes=notes), scoring


def rescore(
    job: Job, todo: Iterable[tuple[FoundRecording, PublishedSources]]
) -> dict[str, Rescoring]:
    """Return the new scorings of recordings whose signal is as it was, by name."""
    return {recording.name: _rescore(job, recording, before) for recording, before in todo}


def _rescore(job: Job, recording: FoundRecording, before: PublishedSources) -> Rescoring:
    checked_at_ns = time.time_ns()
    sources = _scoring_sources(job, recording)
    scoring: Scoring | None = None
    notes: tuple[str, ...] = ()
    if before.n_windows and before.duration_s is not None:
        scoring, notes = _read(job, recording, before.duration_s, truncated=before.truncated)
    return Rescoring(scoring_digest(scoring), notes, sources, checked_at_ns, scoring)


def _scoring_sources(job: Job, recording: FoundRecording) -> tuple[SourceFile, ...]:
    sources = []
    for path, role in recording.files:
        if role is SourceRole.SCORING:
            try:
                stat = stat_source(str(job.root), path, str(role))
                sources.append(replace(stat, sha256=file_sha256(job.root / path)))
            except OSError:  # it vanished, or may not be read: a note says so, and the next scan
                continue
    return tuple(sources)


def _read(
    job: Job, recording: FoundRecording, duration_s: float, *, truncated: bool
) -> tuple[Scoring | None, tuple[str, ...]]:
    try:
        with reading_memory(job.reading_bytes):
            scoring = job.reader.scoring(
                job.root, recording, duration_s=duration_s, truncated=truncated
            )
    except Exception as error:  # whatever a reader raises concerns this scoring alone
        return None, (f"scoring cannot be read: {reason(error)}",)
    return scoring, scoring.notes if scoring else ()
