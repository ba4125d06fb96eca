"""What a worker does with one recording: hash, read, process, write; or find it done already."""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from flows.ingest.job import Job, printable, stat_source
from flows.ingest.reasons import reason
from flows.ingest.scoring import add_scoring
from preprocessing.chain import ProcessedRecording, process
from preprocessing.channels import LIST_CHANNELS, NO_CHANNEL, canonical
from preprocessing.plausibility import check_recording, reading_memory
from preprocessing.recording import FoundRecording, RawRecording, UnreadableRecordingError
from storage.files import digest_of, file_sha256, window_path
from storage.index.published import RecordingKey
from storage.schema import (
    WINDOW_S,
    RecordingRow,
    Scoring,
    SourceFile,
    SourceRole,
    Status,
    WindowColumns,
)
from storage.windows import WindowFileError, check_pages, read_recording_row, write_window_file


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """Rows of the recordings that a worker was handed at once, and how long it was busy.

    ``seconds`` has the time of each, empty where that is not known.
    """

    rows: list[RecordingRow]
    busy_s: float
    seconds: tuple[float, ...] = ()
    scorings: dict[RecordingKey, Scoring] = field(default_factory=dict)


def preprocess_chunk(job: Job, chunk: Iterable[FoundRecording]) -> ChunkResult:
    """Return the rows of several recordings, one after the other."""
    rows, scorings, clock = [], {}, [time.perf_counter()]
    for recording in chunk:
        row, scoring = add_scoring(job, recording, preprocess_recording(job, recording))
        rows.append(row)
        if scoring is not None and row.scoring_digest:
            scorings[row.dataset, row.name] = scoring
        clock.append(time.perf_counter())
    seconds = tuple(end - start for start, end in pairwise(clock))
    return ChunkResult(rows, clock[-1] - clock[0], seconds, scorings)


def preprocess_recording(job: Job, recording: FoundRecording) -> RecordingRow:
    """Return the row of one recording, whose window file is then in the store.

    A recording that cannot be read is quarantined with the reason; an error of writing is
    raised, because it is about the store and not about the recording.
    """
    versions = job.versions(recording)
    row = RecordingRow(
        dataset=recording.dataset,
        name=recording.name,
        subject=recording.subject,
        visit=recording.visit,
        status=Status.OK,
        settings_digest=job.settings_digest(versions),
        versions=versions,
    )
    try:
        row = replace(row, checked_at_ns=time.time_ns(), sources=_sources(job.root, recording))
        row = replace(row, digest=_digest(row))
        if (written := _finished(job, row)) is not None:
            return written
        row, processed = _process(job, recording, row)
        _require_unchanged(job.root, recording, row)
    except Exception as error:  # whatever a reader raises concerns this file alone
        command = f"deaps channels {shlex.quote(printable(recording.files[0][0]))}"
        why = reason(error).replace(LIST_CHANNELS, command)
        if why.startswith(NO_CHANNEL) and job.reader.reads_channels:
            row = replace(row, settings_digest=job.channel_digest(versions))
        return replace(row, status=Status.QUARANTINED, reason=why)
    return _write(job, row, processed)


def _process(
    job: Job, recording: FoundRecording, row: RecordingRow
) -> tuple[RecordingRow, ProcessedRecording]:
    """Return the row and the windows; the raw signal is let go before they are written."""
    with reading_memory(job.reading_bytes):
        raw = check_recording(job.reader.read(job.root, recording, job.signal.labels()))
    processed = process(raw, signal=job.signal, quality=job.quality)
    if job.reader.reads_channels and job.is_added(raw.channel):
        row = replace(row, digest=_digest(row, raw.channel))
    return _describe(row, raw, processed), processed


def _sources(root: Path, recording: FoundRecording) -> tuple[SourceFile, ...]:
    stats = [(path, stat_source(str(root), path, str(role))) for path, role in recording.files]
    if odd := [path for path, _ in stats if not (root / path).is_file()]:
        # Opening a pipe would wait for ever.
        raise UnreadableRecordingError(f"no plain file: {printable(Path(odd[0]).name)}")
    return tuple(replace(stat, sha256=file_sha256(root / path)) for path, stat in stats)


def _require_unchanged(root: Path, recording: FoundRecording, row: RecordingRow) -> None:
    """Raise an error if a file changed after it was hashed: its windows would have a wrong name."""
    for (path, role), before in zip(recording.files, row.sources, strict=True):
        now = stat_source(str(root), path, str(role))
        if role != SourceRole.SCORING and now != replace(before, sha256=now.sha256):
            raise UnreadableRecordingError("changed while it was read; run deaps preprocess again")


def _digest(row: RecordingRow, channel: str | None = None) -> str:
    """Return the digest that the window file is named after: scorings have no part in it.

    A ``channel`` that an added label chose does: another list may choose another.
    """
    contents = [
        [source.role, source.sha256] for source in row.sources if source.role != SourceRole.SCORING
    ]
    return digest_of(contents, row.settings_digest, *([canonical(channel)] if channel else []))


def _finished(job: Job, row: RecordingRow) -> RecordingRow | None:
    """Return the row of a window file that an earlier run left, or None."""
    added = job.signal.channels_add if job.reader.reads_channels else ()
    digests = [row.digest or "", *(_digest(row, label) for label in added)]
    return next((done for digest in digests if (done := _written(job, row, digest))), None)


def _written(job: Job, row: RecordingRow, digest: str) -> RecordingRow | None:
    path = job.store / window_path(row.dataset, row.name, digest)
    if not path.exists():
        return None
    try:
        check_pages(path)
        written = read_recording_row(path)
    except WindowFileError:
        return None
    return replace(
        written,
        subject=row.subject,
        visit=row.visit,
        checked_at_ns=row.checked_at_ns,
        sources=row.sources,
    )


def _describe(row: RecordingRow, raw: RawRecording, processed: ProcessedRecording) -> RecordingRow:
    return replace(
        row,
        sex=raw.sex,
        age=raw.age,
        fs=raw.fs,
        duration_s=processed.duration_s,
        channel=raw.channel,
        n_windows=len(processed.windows),
        dropped_s=processed.dropped_s,
        n_samples=processed.n_samples,
        mean_mv=processed.mean_mv,
        std_mv=processed.std_mv,
        polarity=processed.polarity,
        truncated=raw.truncated,
        notes=raw.notes,
        clock_s=raw.clock_s,
        signal_digest=_signal_digest(raw),
    )


def _signal_digest(raw: RawRecording) -> str | None:
    """Return a digest of the lead as it was read; a constant one may be anybody's."""
    if raw.signal.size == 0 or (raw.signal == raw.signal[0]).all():
        return None
    content = hashlib.sha256(f"{raw.fs:.6f}".encode())
    content.update(np.ascontiguousarray(raw.signal).data)
    return content.hexdigest()


def _write(job: Job, row: RecordingRow, processed: ProcessedRecording) -> RecordingRow:
    """Write the window file; a recording without windows has none."""
    if row.n_windows == 0:
        return row
    scores, gate = processed.scores, processed.gate
    columns = WindowColumns(
        start_s=np.arange(row.n_windows, dtype=np.float64) * WINDOW_S,
        quality=processed.quality,
        quality4=processed.quality4,
        psqi=scores.psqi,
        ksqi=scores.ksqi,
        bassqi=scores.bassqi,
        qsqi=scores.qsqi,
        hr_max=scores.hr_max,
        flat=gate.flat,
        clipped=gate.clipped,
        nonfinite=gate.nonfinite,
        rhythm=processed.rhythm,
        rhythm_share=processed.rhythm_share,
        hr_mean=scores.hr_mean,
        hr_sd=scores.hr_sd,
    )
    path = job.store / window_path(row.dataset, row.name, row.digest or "")
    return write_window_file(path, columns, processed.windows, row)
