"""The scan: what has to be done, and why, by comparing the data sets with the published index.

The store alone decides what is done. A source file counts as unchanged, unread, when size, both
times and inode are as they were, and it had been at rest for two seconds when it was hashed
(git's rule for its own index); any other is hashed by a worker, which finds equal content done.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

from flows.config import Settings, describe_data_roots
from flows.ingest.recording import Job, printable, stat_source
from preprocessing.channels import ECG_ALIASES, NO_CHANNEL
from preprocessing.cohort import check_column_name
from preprocessing.config import SCORING_VERSION, TABLES_VERSION, changed_versions
from preprocessing.datasets import DATASETS
from preprocessing.datasets.walk import accounting_links
from preprocessing.plausibility import reading_memory
from preprocessing.recording import FoundRecording
from preprocessing.user_folder.table import TABLE_NAMES, SubjectTableError
from storage.errors import DeapsError
from storage.files import digest_of, index_path, resolve_root, window_path
from storage.index.published import PublishedSources, PublishedState, SourceStamp, load_published
from storage.packages import cycle_collector_paused
from storage.schema import SourceFile, SourceRole
from storage.windows import WindowFileError, read_recording_row

_KEPT = "; windows of a stopped run are kept"
_AT_REST_NS = 2_000_000_000


IndexIdentity = tuple[int, int] | None
"""Inode and time of the index file, None without one; every publication is a new file."""


class Why(StrEnum):
    """Why a recording has to be preprocessed."""

    NEW = "new"
    CHANGED = "source file changed"
    SETTINGS = "settings changed"
    CHANNELS = "names of ECG channels changed"
    LOST = "window file gone"
    VERIFY = "to be verified"
    SCORING = "stages or events changed"


class Expected(NamedTuple):
    """What a published recording must agree with to be up to date."""

    settings_digest: Callable[[str], str]
    """By the versions of what makes its windows."""
    digest_without_channel: Callable[[str], str]
    """Of a recording that was set aside because it has no ECG channel."""
    is_label: Callable[[str], bool]
    """Whether a lead of this name would be read."""


@dataclass(frozen=True, slots=True)
class DatasetScan:
    """What the scan found in one data set.

    ``warnings`` are about links. ``problem`` says why it was not scanned; its published recordings
    then stay as they are.
    """

    job: Job
    recordings: dict[str, FoundRecording] = field(default_factory=dict)
    todo: dict[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    tables_changed: bool = False
    fingerprint: str = ""
    scanned_at_ns: int = 0
    warnings: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def nothing_to_do(self) -> bool:
        """Whether the published index already says all that there is to say."""
        return not (self.todo or self.removed or self.tables_changed)


@dataclass(frozen=True, slots=True)
class Scan:
    """What the scan found in all data sets, and the index it was compared with."""

    datasets: list[DatasetScan]
    published: PublishedState | None
    index_identity: IndexIdentity
    """Which index file it was compared with."""

    def is_current(self, store: Path) -> bool:
        """Return whether the same index is still published."""
        return self.index_identity == _index_identity(store)

    @property
    def nothing_to_do(self) -> bool:
        """Whether there is an index and it is up to date."""
        return self.published is not None and all(d.nothing_to_do for d in self.datasets)

    @property
    def without_data(self) -> bool:
        """Whether none of the data sets is there."""
        return all(dataset.problem for dataset in self.datasets)

    def require_data(self) -> None:
        """Raise DeapsError if none of the data sets is there."""
        if self.without_data:
            problems = "; ".join(f"{d.job.dataset}: {d.problem}" for d in self.datasets)
            raise DeapsError(f"none of the configured data sets is there ({problems})")

    def todo(self) -> list[tuple[Job, FoundRecording]]:
        """Return every recording whose signal has to be preprocessed."""
        return [
            (d.job, d.recordings[name])
            for d in self.datasets
            for name, why in d.todo.items()
            if why != Why.SCORING
        ]

    def to_rescore(self) -> list[tuple[Job, list[tuple[FoundRecording, PublishedSources]]]]:
        """Return the recordings whose stages or events alone have changed, by data set."""
        return [(d.job, found) for d in self.datasets if (found := self._rescored(d))]

    def _rescored(self, dataset: DatasetScan) -> list[tuple[FoundRecording, PublishedSources]]:
        before = self.published.sources if self.published else {}
        return [
            (dataset.recordings[name], before[dataset.job.dataset, name])
            for name, why in dataset.todo.items()
            if why == Why.SCORING
        ]


@cycle_collector_paused()
def scan(settings: Settings, only: Collection[str] = (), *, verify: bool = False) -> Scan:
    """Return what has to be done for the configured data sets, or for ``only`` those.

    With ``verify`` every recording has to be looked at: its files are hashed, and it is redone
    if they are not what they were.

    Raises
    ------
    DeapsError
        If no data set is configured, or ``only`` names one that is not.
    """
    roots = settings.data.roots()
    if unknown := [name for name in only if name not in roots]:
        configured = ", ".join(roots) or "none"
        raise DeapsError(
            f"data set {unknown[0]!r} has no data.{unknown[0]} (configured: {configured})"
        )
    if not roots:
        raise DeapsError(
            "no data set is configured; for your own recordings run deaps init FOLDER, or give "
            "one of these, e.g. --set data.mitdb=/path/to/it\n" + describe_data_roots()
        )
    store = resolve_root(settings.store.root)
    identity = _index_identity(store)
    published = load_published(store)
    jobs = [
        Job(
            DATASETS[name].with_subjects(settings.cohort.subjects),
            root,
            store,
            settings.signal,
            settings.quality,
            reading_bytes=settings.execution.recording_bytes,
        )
        for name, root in roots.items()
    ]
    columns = settings.cohort.columns
    _check_subjects(settings)
    wanted = [job for job in jobs if not only or job.dataset in only]
    with reading_memory(settings.execution.recording_bytes):
        _check_columns(columns, jobs)
        scanned = [_scan_dataset(job, published, verify, roots.values(), columns) for job in wanted]
    return Scan(scanned, published, identity)


def _index_identity(store: Path) -> IndexIdentity:
    try:
        stat = index_path(store).stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns


def _check_subjects(settings: Settings) -> None:
    """Raise an error if the table of subjects is not where the settings say."""
    table = settings.cohort.subjects
    if table is not None and not table.is_file():
        raise DeapsError(
            f"no table of subjects at {table}; change cohort.subjects, or leave it out to read "
            f"{TABLE_NAMES[0]} in data.folder"
        )


def _check_columns(columns: Sequence[str], jobs: Sequence[Job]) -> None:
    """Raise an error if a column may not be copied, or if no table has it.

    A data set that is not there may have it: then there is no warning.
    """
    for name in columns:
        check_column_name(name)
    if not columns or not all(job.root.is_dir() for job in jobs):
        return
    known = {column for job in jobs for column in job.reader.subject_columns(job.root)}
    unknown = [name for name in columns if name not in known]
    if unknown:
        near = get_close_matches(unknown[0], known, n=3)  # SHHS has more than a thousand
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
        names = ", ".join(job.dataset for job in jobs)
        raise DeapsError(f"cohort.columns has {unknown[0]!r}, which no table of {names} has{hint}")


def why_counts(dataset: DatasetScan) -> dict[str, int]:
    """Return how many recordings have to be done for each reason."""
    return dict(Counter(str(why) for why in dataset.todo.values()))


def recording_rows(scanned: Scan) -> list[dict[str, str | int]]:
    """Return a row for each recording: whose it is, and why it has to be done, "" if not."""
    rows: list[dict[str, str | int]] = []
    for dataset in scanned.datasets:
        name = dataset.job.dataset
        for recording in dataset.recordings.values():
            why = str(dataset.todo.get(recording.name, ""))
            rows.append(
                {
                    "dataset": name,
                    "recording": recording.name,
                    "subject": recording.subject,
                    "visit": recording.visit,
                    "todo": why,
                }
            )
        for removed in dataset.removed:
            gone: dict[str, str | int] = {"subject": "", "visit": 0, "todo": "gone from the source"}
            rows.append({"dataset": name, "recording": removed, **gone})
    return rows


def _scan_dataset(
    job: Job,
    published: PublishedState | None,
    verify: bool,
    named_roots: Iterable[Path],
    columns: Sequence[str],
) -> DatasetScan:
    if not job.root.is_dir():
        return DatasetScan(job, problem=f"no folder at {job.root}")
    now = time.time_ns()
    with accounting_links(job.root, named_roots) as links:
        tables = _stat_tables(job)  # first: one that changes while it is read is read again
        try:
            found = list(job.reader.find(job.root))
        except SubjectTableError as error:
            return DatasetScan(job, problem=str(error) + _kept(published, job.dataset))
    found, n_links = without_links_to_others(job.root, found, links.links())
    recordings, n_renamed = by_distinct_name(map(_printable, found))
    warnings = tuple(map(printable, [*links.warnings(), *_name_warnings(n_links, n_renamed)]))
    published_sources = published.of_dataset(job.dataset) if published else {}
    if not recordings:
        # An unmounted disk looks like this; published recordings must not vanish with it.
        problem = "; ".join([f"no recordings below {job.root}", *warnings])
        return DatasetScan(job, problem=problem + _kept(published, job.dataset))
    expected = Expected(cache(job.settings_digest), cache(job.channel_digest), cache(job.is_label))
    unseen = Why.VERIFY if verify else None
    todo = {
        name: why
        for name, recording in recordings.items()
        if (why := _why(job, expected, recording, published_sources.get(name)) or unseen)
        is not None
    }
    # Warnings count as a table's content: another one is published, and without any nothing is new.
    # So do the columns that are asked for.
    fingerprint = digest_of(TABLES_VERSION, [*tables, *warnings, *columns])
    return DatasetScan(
        job=job,
        recordings=recordings,
        todo=todo,
        removed=tuple(name for name in published_sources if name not in recordings),
        tables_changed=bool(published_sources)
        and fingerprint != _published_fingerprint(job.dataset, published),
        fingerprint=fingerprint,
        scanned_at_ns=now,
        warnings=warnings,
    )


def _kept(published: PublishedState | None, dataset: str) -> str:
    n_published = len(published.of_dataset(dataset)) if published else 0
    return f"; its {n_published} published recordings are kept" if n_published else ""


def without_links_to_others(
    root: Path, found: Sequence[FoundRecording], links: Collection[Path]
) -> tuple[list[FoundRecording], int]:
    """Return the recordings without those that are links to another of them, and how many.

    Else a link whose name comes first would make the file that it leads to its duplicate.
    """
    if not links:  # to look at each path takes longer than to find it
        return list(found), 0
    top = Path(os.path.normpath(root.absolute()))
    paths = [top / recording.files[0][0] for recording in found]
    linked = [any(way in links for way in (path, *path.parents)) for path in paths]
    real = [os.path.realpath(path) for path in paths]
    originals = {path for path, is_link in zip(real, linked, strict=True) if not is_link}
    kept = [
        recording
        for recording, path, is_link in zip(found, real, linked, strict=True)
        if not (is_link and path in originals)
    ]
    return kept, len(found) - len(kept)


def by_distinct_name(found: Iterable[FoundRecording]) -> tuple[dict[str, FoundRecording], int]:
    """Return the recordings by name, and how many got another because theirs was taken.

    Two file names may look the same in print, or differ in the case of their endings alone.
    """
    recordings: dict[str, FoundRecording] = {}
    n_renamed = 0
    for recording in found:
        name = recording.name
        if name in recordings:
            path = recording.files[0][0].encode("utf-8", "surrogateescape")
            name = f"{name}~{hashlib.sha256(path).hexdigest()[:8]}"
            n_renamed += 1
        recordings[name] = replace(recording, name=name) if name != recording.name else recording
    return recordings, n_renamed


def _name_warnings(n_links: int, n_renamed: int) -> list[str]:
    warnings = []
    if n_links:
        lead = "link leads" if n_links == 1 else "links lead"
        warnings.append(f"{n_links:,} {lead} to recordings that are read themselves: left out")
    if n_renamed:
        warnings.append(
            f"{n_renamed:,} recordings have the name of another: named with a ~ and a hash"
        )
    return warnings


def _why(
    job: Job,
    expected: Expected,
    recording: FoundRecording,
    published: PublishedSources | None,
) -> str | None:
    if published is None:
        now = expected.settings_digest(job.versions(recording))
        return f"{Why.NEW}{_KEPT}" if _has_windows(job.store, recording, now) else Why.NEW
    versions = job.versions(recording)
    is_remade = published.versions != versions
    if _lacks_channel(job, published):
        if published.settings_digest != expected.digest_without_channel(versions):
            return Why.CHANNELS
    elif published.settings_digest != expected.settings_digest(versions):
        now = expected.settings_digest(versions)
        kept = _KEPT if _has_windows(job.store, recording, now) else ""
        if is_remade:
            changed = changed_versions(published.versions, versions, job.reader.label)
            return f"redone: {changed} changed{kept}"
        return f"{Why.SETTINGS}{kept}"
    elif job.reader.reads_channels and not expected.is_label(published.channel or ECG_ALIASES[0]):
        return Why.CHANNELS
    if not _sources_unchanged(job.root, recording, published, scoring=False):
        return Why.CHANGED
    if not _window_file_exists(job.store, published):
        return Why.LOST
    is_scored = _sources_unchanged(job.root, recording, published, scoring=True)
    is_newest = published.scoring_version == SCORING_VERSION or not published.n_windows
    return None if is_scored and is_newest else Why.SCORING


def _has_windows(store: Path, recording: FoundRecording, settings_digest: str) -> bool:
    """Return whether a run that was stopped before it published has made windows of it like this.

    Whether they are of the files' present content, only reading those would say.
    """
    folder = (store / window_path(recording.dataset, recording.name, "0" * 8)).parent
    for path in folder.glob("*.parquet") if folder.is_dir() else ():
        with suppress(WindowFileError):
            if read_recording_row(path).settings_digest == settings_digest:
                return True
    return False


def _lacks_channel(job: Job, published: PublishedSources) -> bool:
    """Return whether a recording was set aside because it has no ECG channel."""
    reason = published.reason or ""
    return job.reader.reads_channels and reason.startswith(NO_CHANNEL)


def _sources_unchanged(
    root: Path, recording: FoundRecording, published: PublishedSources, *, scoring: bool
) -> bool:
    """Return whether the files of the scoring, or all the others, are as they were."""
    files = [file for file in recording.files if (file[1] == SourceRole.SCORING) == scoring]
    stamps = [s for s in published.sources if (s.role == SourceRole.SCORING) == scoring]
    if len(files) != len(stamps):
        return False
    folder, at_rest_since = str(root), published.checked_at_ns - _AT_REST_NS
    for (path, role), before in zip(files, stamps, strict=True):
        try:
            now = stat_source(folder, path, role)
        except OSError:
            return False
        # Also from the future: the clock may have been set back.
        was_at_rest = now.mtime_ns <= at_rest_since
        if _identity(now) != _identity(before) or not was_at_rest:
            return False
    return True


def _identity(source: SourceFile | SourceStamp) -> tuple[str, int, int, int, int]:
    return source.path, source.size, source.mtime_ns, source.ctime_ns, source.inode


def _printable(recording: FoundRecording) -> FoundRecording:
    """Return the recording with a name that tables can hold; its files keep their own."""
    if recording.name.isascii() and recording.subject.isascii():
        return recording
    return replace(recording, name=printable(recording.name), subject=printable(recording.subject))


def _window_file_exists(store: Path, published: PublishedSources) -> bool:
    if published.path is None:
        return True
    try:
        size = os.stat(f"{store}/{published.path}").st_size  # noqa: PTH116 - a Path costs more
    except OSError:
        return False
    return size == published.bytes


def _published_fingerprint(dataset: str, published: PublishedState | None) -> str | None:
    row = published.datasets.get(dataset) if published else None
    return row.fingerprint if row else None


def _stat_tables(job: Job) -> list[list[str | int]]:
    """Return what would change with the files that the data set's tables are read from."""
    files: list[list[str | int]] = []
    for path in job.reader.table_files(job.root):
        stat = path.stat()
        files.append([path.name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino])
    return files
