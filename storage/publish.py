"""The publisher: the only door to the index.

A new index is built beside the old one, checked, and renamed over it, so that readers see the
old snapshot or the new one and never wait.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from storage.atomic import replacing
from storage.gc_pause import collector_paused
from storage.index.build import fill_index
from storage.index.check import PublicationError, check_index, check_rows
from storage.index.duplicates import mark_duplicates
from storage.index.published import load_published, published_ids
from storage.index.recording_ids import FIRST_ID, RecordingKey, assign_ids
from storage.index.results import Outcomes, collect_outcomes
from storage.index.snapshot_digest import content_digest, snapshot_digest
from storage.layout import index_path, resolve_root
from storage.locks import publisher_lock
from storage.schema import SCHEMA_VERSION, DatasetRow, RecordingRow, Status
from storage.snapshot import (
    IndexMissingError,
    Snapshot,
)


def publish(
    root: Path | str,
    recordings: Sequence[RecordingRow],
    *,
    datasets: Sequence[DatasetRow],
    settings: Mapping[str, Any],
) -> Snapshot:
    """Publish the index of ``recordings`` and return its snapshot.

    Nothing is written if the published index already holds all this (``rebuilt`` is then
    False). Duplicates are marked here. Publishers of one store queue.

    Parameters
    ----------
    root
        Folder of the store.
    recordings
        All recordings, the unchanged ones too; what is not given is not in the new snapshot.
    datasets
        Their data sets.
    settings
        What the windows were made with: values that JSON holds, without paths of a machine.
    """
    store = resolve_root(root)
    store.mkdir(parents=True, exist_ok=True)
    with publisher_lock(store), collector_paused():
        return _publish(store, recordings, datasets, settings)


def republish(root: Path | str) -> Snapshot:
    """Publish the same recordings with the runs and results that are there now.

    Raises
    ------
    storage.snapshot.IndexMissingError
        If nothing is published.
    """
    store = resolve_root(root)
    with publisher_lock(store), collector_paused():
        published = load_published(store)
        if published is None:
            raise IndexMissingError(f"no index in {store}; run deaps preprocess")
        datasets = list(published.datasets.values())
        return _publish(store, published.rows(), datasets, published.snapshot.settings)


def _publish(
    store: Path,
    recordings: Sequence[RecordingRow],
    datasets: Sequence[DatasetRow],
    settings: Mapping[str, Any],
) -> Snapshot:
    rows = mark_duplicates(recordings)
    check_rows(store, rows)
    outcomes = collect_outcomes(store)
    snapshot = _describe(store, rows, datasets, settings, outcomes)
    current, known = published_ids(store)
    if current and current.content_digest == snapshot.content_digest:
        return current
    ids, next_id = assign_ids(rows, known, current.next_recording_id if current else FIRST_ID)
    snapshot = replace(snapshot, next_recording_id=next_id)
    return _write(store, snapshot, rows, ids, datasets, outcomes)


def _describe(
    store: Path,
    rows: Sequence[RecordingRow],
    datasets: Sequence[DatasetRow],
    settings: Mapping[str, Any],
    outcomes: Outcomes,
) -> Snapshot:
    snapshot_id = snapshot_digest(rows, settings)
    told = json.loads(json.dumps(asdict(outcomes), default=str))
    ok = [row for row in rows if row.status is Status.OK]
    return Snapshot(
        snapshot_id=snapshot_id,
        content_digest=content_digest(snapshot_id, rows, datasets, told, store),
        schema_version=SCHEMA_VERSION,
        published_at=datetime.now(UTC).replace(tzinfo=None),
        store_root=store.as_posix(),
        settings=dict(settings),
        versions=_versions(),
        n_datasets=len(datasets),
        n_recordings=len(rows),
        n_quarantined=len(rows) - len(ok),
        n_windows=sum(row.n_windows for row in ok),
        next_recording_id=0,
        rebuilt=True,
        skipped=tuple(outcomes.skipped),
    )


def _write(
    store: Path,
    snapshot: Snapshot,
    rows: Sequence[RecordingRow],
    ids: Mapping[RecordingKey, int],
    datasets: Sequence[DatasetRow],
    outcomes: Outcomes,
) -> Snapshot:
    import duckdb

    with replacing(index_path(store), mode=0o444) as temporary:
        with duckdb.connect(temporary) as connection:
            connection.execute("SET enable_progress_bar = false")
            fill_index(connection, store, rows, ids=ids, datasets=datasets, outcomes=outcomes)
            _insert_snapshot(connection, snapshot)
            check_index(connection)
            connection.execute("CHECKPOINT")
        wal = temporary.with_name(temporary.name + ".wal")
        if wal.exists():
            raise PublicationError(f"DuckDB left {wal}; the index was not written whole")
    return snapshot


def _insert_snapshot(connection: Any, snapshot: Snapshot) -> None:
    values = {name: getattr(snapshot, name) for name in Snapshot.__slots__ if name != "rebuilt"}
    values["settings"] = json.dumps(snapshot.settings)
    values["versions"] = json.dumps(snapshot.versions)
    values["skipped"] = list(snapshot.skipped)
    named = ", ".join(f"${name} AS {name}" for name in values)
    connection.execute(f"INSERT INTO snapshot BY NAME SELECT {named}", values)


def _versions() -> dict[str, str]:
    versions = {"python": sys.version.split()[0]}
    for package in ("deaps", "duckdb", "numpy", "pyarrow"):
        with contextlib.suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
