"""The preprocessing stage: scan, batches of recordings, one published snapshot."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.events import emit_event
from prefect.task_runners import ThreadPoolTaskRunner

from flows.config import ExecutionSettings, Settings
from flows.ingest.job import Job
from flows.ingest.publication import publish_scan
from flows.ingest.recording import ChunkResult, preprocess_chunk
from flows.ingest.scan import Scan, scan
from flows.ingest.scoring import Rescoring, rescore
from flows.ingest.summary import dataset_rows, problem_rows, summarise
from flows.monitoring.event_log import EventLog
from flows.monitoring.stage_events import (
    PREPROCESS,
    log_publication,
    log_recordings,
    log_scan,
)
from flows.runtime.console import say
from flows.runtime.dask_pool import worker_pool
from flows.runtime.flow_start import handed_scan, start_flow
from flows.runtime.opaque import opaque
from flows.runtime.progress import StageProgress
from preprocessing.recording import FoundRecording
from storage.index.identity import RecordingKey
from storage.locks import writer_lock
from storage.schema import RecordingRow, Status
from storage.snapshot import Snapshot

if TYPE_CHECKING:
    from distributed import Client

CHANGED_EVENT = "deaps.dataset.changed"

_BATCHES_AT_ONCE = 3
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


@flow(
    name="deaps-preprocess",
    task_runner=ThreadPoolTaskRunner(max_workers=_BATCHES_AT_ONCE),  # type: ignore[arg-type]
)
def preprocess(
    preset: str | None = None,
    config: str | None = None,
    overrides: list[str] | None = None,
    only: list[str] | None = None,
    verify: bool = False,
) -> StoreRefresh:
    """Bring the store up to date with the data sets and publish one snapshot.

    Where that changed what is published, an event says so, and what ``refresh.then`` asks for
    follows.
    """
    settings, _ = start_flow(preset, config, overrides)
    refresh = refresh_store(settings, handed_scan(), only=only or (), verify=verify)
    if refresh.changed:
        emit_change(settings, refresh)
    follow_change(settings)
    return refresh


def emit_change(settings: Settings, refresh: StoreRefresh) -> None:
    """Emit the event that triggers of others can wait for."""
    emit_event(
        event=CHANGED_EVENT,
        resource={
            "prefect.resource.id": f"deaps.store.{refresh.snapshot.snapshot_id[:16]}",
            "prefect.resource.name": settings.store.root.name,
        },
        payload={
            "snapshot": refresh.snapshot.snapshot_id,
            "recordings_done": refresh.n_recordings,
            "datasets": sorted(settings.data.roots()),
        },
    )


def follow_change(settings: Settings) -> None:
    """Train, or train and evaluate, as ``refresh.then`` says; what is done is left alone.

    Also where this run changed nothing: one before it may have been killed after its change.
    """
    if settings.refresh.then == "nothing":
        return
    # Imported here: the later stages import torch, and the pipeline imports this stage.
    from flows.evaluate import link_report
    from flows.pipeline import train_and_report, train_experiment

    if settings.refresh.then == "train":
        train_experiment(settings)
    else:
        link_report(settings, train_and_report(settings))


def refresh_store(
    settings: Settings,
    earlier: Scan | None = None,
    *,
    only: Sequence[str] = (),
    verify: bool = False,
    client: Client | None = None,
) -> StoreRefresh:
    """Scan, preprocess what has to be, publish and summarise; for use inside a flow.

    ``earlier`` is a scan that the caller has made; it serves if nobody has published since.
    Workers are started unless ``client`` brings them.
    """
    log = EventLog(settings.store.root)
    with writer_lock(settings.store.root, say_waiting=say), log.stage(PREPROCESS):
        is_current = earlier is not None and earlier.is_current(settings.store.root)
        scanned = earlier if earlier and is_current else scan(settings, only, verify=verify)
        before = scanned.published.snapshot.snapshot_id if scanned.published else None
        log_scan(log, scanned)
        if scanned.published is None:
            scanned.require_data()
        results = run_batches(settings, scanned.todo(), client)
        rescorings = read_changed_scorings(opaque(scanned)) if scanned.to_rescore() else {}
        snapshot = publish(opaque(scanned), opaque(results), opaque(rescorings), opaque(settings))
        log_publication(log, snapshot, stage=PREPROCESS)
    show_summary(settings.store.root)
    busy_s = sum(result.busy_s for result in results)
    n_recordings = sum(len(result.rows) for result in results) + len(rescorings)
    return StoreRefresh(n_recordings, snapshot, busy_s, changed=snapshot.snapshot_id != before)


def run_batches(
    settings: Settings, todo: Sequence[tuple[Job, FoundRecording]], client: Client | None
) -> list[ChunkResult]:
    """Preprocess recordings in a bounded number of Prefect tasks."""
    if not todo:
        return []
    pool = nullcontext(client) if client else worker_pool(settings.execution)
    with (
        pool as workers,
        StageProgress("preprocessing", len(todo), key="preprocessing-progress") as progress,
    ):
        context = StageContext(workers, settings.execution, progress)
        batches = make_batches(todo, settings.execution.batch_recordings)
        futures = [preprocess_batch.submit(opaque(batch), opaque(context)) for batch in batches]
        for future in futures:
            future.wait()
        return [result for future in futures for result in future.result()]


def make_batches(todo: Iterable[tuple[Job, FoundRecording]], size: int) -> Iterator[RecordingBatch]:
    """Yield batches of at most ``size`` recordings, each of one data set."""
    by_dataset: dict[str, tuple[Job, list[FoundRecording]]] = {}
    for job, recording in todo:
        by_dataset.setdefault(job.dataset, (job, []))[1].append(recording)
    for job, recordings in by_dataset.values():
        for start in range(0, len(recordings), size):
            yield RecordingBatch(job, recordings[start : start + size], start)


@task(
    cache_policy=NO_CACHE,
    persist_result=False,
    task_run_name="{batch.name}",
)
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
        results = [_alone(job, recording, client) for recording in chunk]
        rows = [row for result in results for row in result.rows]
        scorings = [result.scorings for result in results]
        return ChunkResult(rows, 0.0, scorings=dict(ChainMap(*scorings)))


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
            settings_digest=job.settings_digest(),
        )
        return ChunkResult([row], 0.0)
    return result


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="changed stages and events")
def read_changed_scorings(scanned: Scan) -> dict[RecordingKey, Rescoring]:
    """Read the scorings that changed beside an unchanged signal.

    Here and not by the workers: a night takes some milliseconds, their start takes seconds.
    """
    return {
        (job.dataset, name): rescoring
        for job, recordings in scanned.to_rescore()
        for name, rescoring in rescore(job, recordings).items()
    }


@task(cache_policy=NO_CACHE, persist_result=False, task_run_name="publish")
def publish(
    scanned: Scan,
    results: list[ChunkResult],
    rescorings: dict[RecordingKey, Rescoring],
    settings: Settings,
) -> Snapshot:
    """Publish one snapshot of all that is published or new."""
    rows = [row for result in results for row in result.rows]
    scorings = dict(ChainMap(*(result.scorings for result in results)))
    return publish_scan(scanned, rows, settings, scorings=scorings, rescorings=rescorings)


def show_summary(root: Path) -> None:
    """Leave the summary as tables in Prefect's pages."""
    summary = summarise(root)
    create_table_artifact(
        dataset_rows(summary),
        key="preprocessing-summary",
        description="Recordings by status and windows by quality, for each data set.",
    )
    if problems := problem_rows(summary):
        create_table_artifact(
            problems,
            key="preprocessing-problems",
            description="Why recordings were set aside or flagged.",
        )
