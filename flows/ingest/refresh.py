"""Bring a store up to date: scan, batches of recordings, one published snapshot.

Nothing here imports Prefect or Dask before it has to: one changed recording takes half a second.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flows.config import ExecutionSettings, Settings
from flows.ingest.publication import publish_scan
from flows.ingest.recording import ChunkResult, Job, Rescoring, preprocess_chunk, rescore
from flows.ingest.scan import Scan, scan
from flows.ingest.summary import dataset_rows, problem_rows, summarise
from flows.monitoring.event_log import (
    PREPROCESS,
    EventLog,
    log_publication,
    log_recordings,
    log_scan,
)
from flows.runtime.console import notify
from flows.runtime.dask_pool import warn_of_locks, worker_pool
from flows.runtime.prefect_glue import in_flow, publish_table, stage_task, unmapped
from preprocessing.recording import FoundRecording
from storage.files import IN_PROCESS_MARK
from storage.index.published import RecordingKey
from storage.locks import writer_lock
from storage.schema import RecordingRow, Status
from storage.snapshot import Snapshot

if TYPE_CHECKING:
    from distributed import Client

    from flows.runtime.progress import StageProgress

BATCHES_AT_ONCE = 3
"""Enough that workers never wait for the next batch, few enough that order is kept roughly."""


@dataclass(frozen=True, slots=True)
class StoreRefresh:
    """What the stage did: how many recordings, the snapshot, and how busy the workers were."""

    n_recordings: int
    snapshot: Snapshot
    busy_s: float
    changed: bool
    """Whether another snapshot is published than before."""


@dataclass(frozen=True, slots=True)
class RecordingBatch:
    """Recordings of one data set that one Prefect task takes care of."""

    job: Job
    recordings: Sequence[FoundRecording]
    start: int = 0

    @property
    def name(self) -> str:
        """Which recordings these are, for Prefect's pages."""
        return f"{self.job.dataset} {self.start + 1} to {self.start + len(self.recordings)}"


@dataclass(frozen=True, slots=True)
class StageContext:
    """The workers and the progress that all batches share."""

    client: Client
    execution: ExecutionSettings
    progress: StageProgress


def refresh_store(
    settings: Settings,
    earlier: Scan | None = None,
    *,
    only: Sequence[str] = (),
    verify: bool = False,
    client: Client | None = None,
) -> StoreRefresh:
    """Scan, preprocess what has to be, publish and summarise.

    ``earlier`` is a scan that the caller has made; it serves if nobody has published since.
    Workers are started unless ``client`` brings them.
    """
    log = EventLog(settings.store.root)
    if settings.execution.cluster == "slurm" or settings.execution.dask_address:
        warn_of_locks(settings.store.root)
    with writer_lock(settings.store.root, on_wait=notify), log.stage(PREPROCESS):
        is_current = earlier is not None and earlier.is_current(settings.store.root)
        scanned = earlier if earlier and is_current else scan(settings, only, verify=verify)
        before = scanned.published.snapshot.snapshot_id if scanned.published else None
        log_scan(log, scanned)
        if scanned.published is None:
            scanned.require_data()
            _warn_if_damaged(scanned)
        results = run_batches(settings, scanned.todo(), client)
        rescorings = read_changed_scorings(unmapped(scanned)) if scanned.to_rescore() else {}
        snapshot = publish(
            unmapped(scanned), unmapped(results), unmapped(rescorings), unmapped(settings)
        )
        log_publication(log, snapshot, stage=PREPROCESS)
    publish_summary(settings.store.root)
    busy_s = sum(result.busy_s for result in results)
    n_recordings = sum(len(result.rows) for result in results) + len(rescorings)
    return StoreRefresh(n_recordings, snapshot, busy_s, changed=snapshot.snapshot_id != before)


def _warn_if_damaged(scanned: Scan) -> None:
    """Say what becomes of an index that cannot be read: nobody knows what else it held."""
    if scanned.index_identity is not None:
        names = ", ".join(dataset.job.dataset for dataset in scanned.datasets)
        notify(
            f"warning: the published index is damaged; rebuilding it from {names} only. Configure "
            "the other data sets to add them again"
        )


def run_batches(
    settings: Settings, todo: Sequence[tuple[Job, FoundRecording]], client: Client | None
) -> list[ChunkResult]:
    """Preprocess recordings in a bounded number of Prefect tasks."""
    if not todo:
        return []
    if client is None and is_small(settings, todo):
        return [run_here(unmapped(settings), unmapped(todo))]
    pool = nullcontext(client) if client else worker_pool(settings.execution)
    # Imported here: the bar takes a fifth of a second, and small work has none.
    from flows.runtime.progress import StageProgress

    with (
        pool as workers,
        StageProgress("preprocessing", len(todo), key="preprocessing-progress") as progress,
    ):
        context = StageContext(workers, settings.execution, progress)
        batches = make_batches(todo, settings.execution.batch_recordings)
        calls = [(unmapped(batch), unmapped(context)) for batch in batches]
        done = preprocess_batch.run_all(calls, at_once=BATCHES_AT_ONCE)
        _mark(settings).unlink(missing_ok=True)
        return [result for results in done for result in results()]


def is_small(settings: Settings, todo: Sequence[tuple[Job, FoundRecording]]) -> bool:
    """Return whether a single worker would be handed all of it at once.

    Then this process does it itself, in less time than a worker takes to start. Not after such
    a process died in it: workers find out which recording it was.
    """
    execution = settings.execution
    is_here = execution.dask_address is None and execution.cluster == "local"
    if not is_here or len(todo) > execution.batch_recordings:
        return False
    size = sum(_source_bytes(job.root, recording) for job, recording in todo)
    return size <= execution.chunk_megabytes * 1e6 and not _mark(settings).exists()


@stage_task("recordings in this process")
def run_here(settings: Settings, todo: Sequence[tuple[Job, FoundRecording]]) -> ChunkResult:
    """Preprocess a few recordings in this process."""
    log, results = EventLog(settings.store.root), []
    notify(f"reading {len(todo):,} recording{'' if len(todo) == 1 else 's'} ...")
    _mark(settings).touch()
    for job, recording in todo:
        results.append(preprocess_chunk(job, [recording]))
        log_recordings(log, results[-1])
    _mark(settings).unlink(missing_ok=True)
    return _joined(results)


def _joined(results: Sequence[ChunkResult]) -> ChunkResult:
    """Return several results as one."""
    rows = [row for result in results for row in result.rows]
    scorings = dict(ChainMap(*(result.scorings for result in results)))
    return ChunkResult(rows, sum(result.busy_s for result in results), scorings=scorings)


def _mark(settings: Settings) -> Path:
    """Return the file that is there while a process works itself; a kill leaves it behind."""
    return settings.store.root / IN_PROCESS_MARK


def make_batches(todo: Iterable[tuple[Job, FoundRecording]], size: int) -> Iterator[RecordingBatch]:
    """Yield batches of at most ``size`` recordings, each of one data set."""
    by_dataset: dict[str, tuple[Job, list[FoundRecording]]] = {}
    for job, recording in todo:
        by_dataset.setdefault(job.dataset, (job, []))[1].append(recording)
    for job, recordings in by_dataset.values():
        for start in range(0, len(recordings), size):
            yield RecordingBatch(job, recordings[start : start + size], start)


@stage_task("{batch.name}")
def preprocess_batch(batch: RecordingBatch, context: StageContext) -> list[ChunkResult]:
    """Hand one batch to the workers, and wait for it."""
    from distributed import as_completed

    chunks = list(make_chunks(batch, context.execution.chunk_megabytes * 1e6))
    futures = {
        context.client.submit(preprocess_chunk, batch.job, chunk, pure=False): chunk
        for chunk in chunks
    }
    results = []
    for future in as_completed(futures):
        chunk = futures[future]
        results.append(_result(future.result, batch.job, chunk, context.client))
        log_recordings(EventLog(batch.job.store), results[-1])
        context.progress.advance(len(chunk))
    return results


def make_chunks(batch: RecordingBatch, max_bytes: float) -> Iterator[list[FoundRecording]]:
    """Yield groups of recordings whose sources together are at most ``max_bytes``, or one."""
    chunk: list[FoundRecording] = []
    n_bytes = 0
    for recording in batch.recordings:
        size = _source_bytes(batch.job.root, recording)
        if chunk and n_bytes + size > max_bytes:
            yield chunk
            chunk, n_bytes = [], 0
        chunk.append(recording)
        n_bytes += size
    if chunk:
        yield chunk


def _source_bytes(root: Path, recording: FoundRecording) -> int:
    total = 0
    for path, _ in recording.files:
        try:
            total += (root / path).stat().st_size
        except OSError:  # it vanished; the worker will say so
            continue
    return total


def _result(
    get: Callable[[], ChunkResult], job: Job, chunk: list[FoundRecording], client: Client
) -> ChunkResult:
    """Return a chunk's result; where it killed its workers, find the recording that does."""
    from distributed import KilledWorker

    try:
        return get()
    except KilledWorker:
        return _joined([_alone(job, recording, client) for recording in chunk])


def _alone(job: Job, recording: FoundRecording, client: Client) -> ChunkResult:
    from distributed import KilledWorker

    try:
        result: ChunkResult = client.submit(preprocess_chunk, job, [recording], pure=False).result()
    except KilledWorker:
        row = RecordingRow(
            dataset=recording.dataset,
            name=recording.name,
            subject=recording.subject,
            visit=recording.visit,
            status=Status.QUARANTINED,
            reason="worker died while reading it: out of memory, or a crash in a library",
            settings_digest=job.settings_digest(job.versions(recording)),
            versions=job.versions(recording),
        )
        return ChunkResult([row], 0.0)
    return result


@stage_task("changed stages and events")
def read_changed_scorings(scanned: Scan) -> dict[RecordingKey, Rescoring]:
    """Read the scorings that changed while the signal did not.

    Here and not by the workers: a night takes some milliseconds, their start takes seconds.
    """
    return {
        (job.dataset, name): rescoring
        for job, recordings in scanned.to_rescore()
        for name, rescoring in rescore(job, recordings).items()
    }


@stage_task("publish")
def publish(
    scanned: Scan,
    results: Sequence[ChunkResult],
    rescorings: dict[RecordingKey, Rescoring],
    settings: Settings,
) -> Snapshot:
    """Publish one snapshot of all that is published or new."""
    new = _joined(results)
    return publish_scan(scanned, new.rows, settings, scorings=new.scorings, rescorings=rescorings)


def publish_summary(root: Path) -> None:
    """Publish the summary as tables in Prefect's pages."""
    if not in_flow():
        return
    summary = summarise(root)
    publish_table(
        dataset_rows(summary),
        key="preprocessing-summary",
        description="Recordings by status and windows by quality, for each data set.",
    )
    if problems := problem_rows(summary):
        publish_table(
            problems,
            key="preprocessing-problems",
            description="Why recordings were set aside or flagged.",
        )
