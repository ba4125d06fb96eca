"""What a worker does with one recording: hash, read, process, write; or find it done already."""

from __future__ import annotations

import hashlib
import os
import shlex
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preprocessing.channels import (
    ANY_ECG,
    LIST_CHANNELS,
    MATCHING_VERSION,
    NO_CHANNEL,
    canonical,
    sounds_like_ecg,
)
from preprocessing.config import SCORING_VERSION, QualitySettings, SignalSettings, versions_of
from preprocessing.datasets import DataSet
from preprocessing.plausibility import DEFAULT_READING_BYTES, check_recording, reading_memory
from preprocessing.recording import FoundRecording, RawRecording, UnreadableRecordingError
from storage.files import digest_of, file_sha256, window_path
from storage.index.published import PublishedSources, RecordingKey
from storage.schema import (
    SCHEMA_VERSION,
    RecordingRow,
    Scoring,
    SourceFile,
    SourceRole,
    Status,
)
from storage.windows import (
    WindowFileError,
    check_pages,
    read_recording_row,
    write_window_file,
)

if TYPE_CHECKING:
    from preprocessing.chain import ProcessedRecording


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
    from preprocessing.chain import process  # scipy takes a second, and a scan needs none of it

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
    path = job.store / window_path(row.dataset, row.name, row.digest or "")
    columns = processed.window_columns()
    return write_window_file(path, columns, processed.windows, row, processed.peaks)


_ARRAYS = (
    "stage_start_s", "stage_duration_s", "stage", "old_stage", "event_start_s",
    "event_duration_s", "kind", "event_drop",
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
        """Return the published row with the new scoring and the old signal."""
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


_REASON_LENGTH = 300


def reason(error: Exception) -> str:
    """Return why a recording or its scoring is set aside, in words that a person understands.

    The text of a library's error is left out: it may quote what stands in a header.
    """
    match error:
        case UnreadableRecordingError():
            text = str(error)
        case FileNotFoundError():
            text = "file vanished between scan and read"
        case PermissionError():
            text = "no permission to read the file"
        case MemoryError():
            text = "not enough memory to read the file"
        case OSError() if error.errno is not None:
            text = f"cannot be read: {os.strerror(error.errno)}"
        case _:
            text = "damaged: its content is not what its format allows"
    return text[:_REASON_LENGTH]


@dataclass(frozen=True, slots=True)
class Job:
    """One data set, where it lies, where its windows go, and the settings they depend on.

    It carries the reader itself: a worker is another process, which knows nothing of a data set
    that a script has registered.
    """

    reader: DataSet
    root: Path
    store: Path
    signal: SignalSettings
    quality: QualitySettings
    reading_bytes: int = DEFAULT_READING_BYTES
    """Memory that reading one recording may take; no part of what its windows depend on."""

    @property
    def dataset(self) -> str:
        """Name of the data set."""
        return self.reader.name

    def settings(self) -> dict[str, Any]:
        """Return just the settings that this data set's window files depend on."""
        unread = {"channels_add"} | (set() if self.reader.reads_channels else {"channels"})
        return {
            "signal": self.signal.model_dump(mode="json", exclude=unread),
            "quality": self.quality.model_dump(mode="json"),
        }

    def versions(self, recording: FoundRecording) -> str:
        """Return the versions of all that makes the windows of a recording."""
        return versions_of(self.reader.version, recording.files[0][0])

    def settings_digest(self, versions: str) -> str:
        """Return the digest of those settings, of ``versions`` and of the schema's version."""
        return digest_of(self.settings(), versions, SCHEMA_VERSION)

    def channel_digest(self, versions: str) -> str:
        """Return the digest for a recording without an ECG channel: labels are part of it, too.

        So more labels redo such recordings, and no others.
        """
        return digest_of(self.settings_digest(versions), self.signal.labels(), MATCHING_VERSION)

    def is_label(self, channel: str) -> bool:
        """Return whether a lead of this name would be read."""
        return _is_among(channel, self.signal.labels())

    def is_added(self, channel: str) -> bool:
        """Return whether a lead of this name would be read for the sake of an added label alone."""
        return not _is_among(channel, self.signal.model_copy(update={"channels_add": ()}).labels())


def _is_among(channel: str, labels: tuple[str, ...]) -> bool:
    is_known = canonical(channel) in map(canonical, labels)
    return is_known or (ANY_ECG in labels and sounds_like_ecg(channel))


def printable(name: str) -> str:
    r"""Return a file name as text: bytes that are not UTF-8 become escapes such as ``\xff``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def stat_source(root: str, path: str, role: str) -> SourceFile:
    """Return a source file as it is now, without its hash."""
    stat = os.stat(f"{root}/{path}")  # noqa: PTH116 - a Path costs more than the call
    return SourceFile(
        printable(path), role, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
    )
