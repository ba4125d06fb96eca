"""The publisher: the only door to the index.

A new index is built next to the old one, checked, and renamed over it. Readers see the old
snapshot or the new one, and never wait.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.errors import DeapsError
from storage.files import (
    file_sha256,
    index_path,
    index_wal_path,
    published_digests,
    replacing,
    resolve_root,
    write_digests,
)
from storage.index.build import (
    IndexContent,
    check_index,
    check_rows,
    collect_runs_and_results,
    fill_index,
)
from storage.index.published import (
    FIRST_ID,
    RecordingKey,
    assign_ids,
    content_digest,
    load_published,
    mark_duplicates,
    published_ids,
    snapshot_digest,
)
from storage.index.rows import canonical_subjects
from storage.locks import publisher_lock
from storage.packages import cycle_collector_paused, installed_versions
from storage.schema import SCHEMA_VERSION, DatasetRow, RecordingRow, Scoring, Status, SubjectRow
from storage.snapshot import IndexMissingError, Snapshot, hide_progress, sql_literal
from storage.tables import tables_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_ATTACH = "ATTACH {path} AS built (STORAGE_VERSION 'v1.0.0')"
"""The storage of DuckDB 1.0: 1.1 and later open it. Left to itself, 2.0 writes one that 1.5
refuses."""
_PACKAGES = ("deaps", "duckdb", "numpy", "pyarrow")
"""What the content of an index can depend on."""


def publish(
    root: Path | str,
    recordings: Sequence[RecordingRow],
    *,
    datasets: Sequence[DatasetRow],
    settings: Mapping[str, Any],
    scorings: Mapping[RecordingKey, Scoring] | None = None,
    subjects: Sequence[SubjectRow] = (),
    chains: Mapping[str, Mapping[str, Any]] | None = None,
) -> Snapshot:
    """Publish the index of ``recordings`` and return its snapshot.

    If the published index already holds the same content, nothing is written and ``rebuilt``
    is False. Copies are marked here. Publishers of one store wait for each other.

    Parameters
    ----------
    root
        Folder of the store.
    recordings
        All recordings, the unchanged ones too; the new snapshot has no others.
    datasets
        Their data sets.
    settings
        The settings of this publication: JSON values, without paths of a machine.
    scorings
        Stages and events by data set and name, at least of every recording whose
        ``scoring_digest`` is not that of the published index.
    subjects
        What the cohorts' tables say of subjects and visits.
    chains
        The settings that windows were made with, by the ``settings_digest`` of recordings; by
        default all were made with ``settings``.

    Raises
    ------
    storage.index.build.DeapsError
        If recordings and window files disagree, a window file is damaged or the disk is full.
        The published index stays.
    """
    store = resolve_root(root)
    store.mkdir(parents=True, exist_ok=True)
    made_with = (row.settings_digest for row in recordings if row.settings_digest)
    with publisher_lock(store), cycle_collector_paused():
        content = IndexContent(
            mark_duplicates(recordings),
            datasets,
            collect_runs_and_results(store),
            scorings or {},
            canonical_subjects(subjects),
            dict.fromkeys(made_with, settings) if chains is None else chains,
        )
        return _publish_if_changed(store, content, settings)


def republish(root: Path | str) -> Snapshot:
    """Publish the same recordings with the runs and results that the store has now.

    Raises
    ------
    storage.snapshot.IndexMissingError
        If nothing is published.
    """
    store = resolve_root(root)
    with publisher_lock(store), cycle_collector_paused():
        published = load_published(store)
        if published is None:
            raise IndexMissingError(f"no index in {store}; run deaps preprocess")
        content = IndexContent(
            mark_duplicates(published.rows()),
            list(published.datasets.values()),
            collect_runs_and_results(store),
            subjects=canonical_subjects(published.subjects()),
            chains=published.chains,
        )
        return _publish_if_changed(store, content, published.snapshot.settings)


def _publish_if_changed(
    store: Path, content: IndexContent, settings: Mapping[str, Any]
) -> Snapshot:
    _remove_stale_log(store)
    rows = content.rows
    check_rows(store, rows)
    snapshot = _describe(store, content, settings)
    published, ids = published_ids(store)
    if published and published.content_digest == snapshot.content_digest:
        return published
    ids, next_id = assign_ids(rows, ids, published.next_recording_id if published else FIRST_ID)
    snapshot = replace(snapshot, next_recording_id=next_id)
    _write(store, content, ids, snapshot)
    return snapshot


def _describe(store: Path, content: IndexContent, settings: Mapping[str, Any]) -> Snapshot:
    """Return the snapshot of a new index; its ``next_recording_id`` is set later."""
    rows, results = content.rows, content.results
    snapshot_id = snapshot_digest(rows, settings)
    ok = [row for row in rows if row.status is Status.OK]
    return Snapshot(
        snapshot_id=snapshot_id,
        content_digest=content_digest(
            snapshot_id,
            rows,
            datasets=content.datasets,
            results=json.loads(json.dumps(asdict(results), default=str)),
            subjects=content.subjects,
            root=store,
            tables=tables_sql(),
        ),
        schema_version=SCHEMA_VERSION,
        published_at=datetime.now(UTC).replace(tzinfo=None),
        store_root=store.as_posix(),
        settings=dict(settings),
        versions=installed_versions(_PACKAGES),
        n_datasets=len(content.datasets),
        n_recordings=len(rows),
        n_quarantined=len(rows) - len(ok),
        n_windows=sum(row.n_windows for row in ok),
        next_recording_id=0,
        rebuilt=True,
        skipped=tuple(results.skipped),
    )


def _write(
    store: Path, content: IndexContent, ids: Mapping[RecordingKey, int], snapshot: Snapshot
) -> None:
    import duckdb

    with replacing(index_path(store), mode=0o444) as temporary:
        try:
            with duckdb.connect() as connection:
                hide_progress(connection)
                connection.execute(f"SET temp_directory = {sql_literal(f'{temporary}.tmp')}")
                connection.execute(_ATTACH.format(path=sql_literal(str(temporary))))
                connection.execute("USE built")
                fill_index(connection, store, content, ids)
                _insert_snapshot(connection, snapshot)
                check_index(connection)
                connection.execute("CHECKPOINT built")
        except duckdb.Error as error:
            raise DeapsError(_not_written(store, str(error))) from error
        wal = index_wal_path(temporary)
        if wal.exists():
            raise DeapsError(_not_written(store, f"DuckDB left {wal}"))
        digest = file_sha256(temporary)
        write_digests(index_path(store), [*published_digests(index_path(store))[-1:], digest])
    write_digests(index_path(store), [digest])
    _remove_stale_log(store)


def _remove_stale_log(store: Path) -> None:
    """Remove the log that somebody's killed writer left next to the index.

    DuckDB would refuse to open any index with it. A published index is complete without.
    """
    index_wal_path(index_path(store)).unlink(missing_ok=True)


def _not_written(store: Path, reason: str) -> str:
    cause = reason.splitlines()[0] if reason else "DuckDB gives no reason"
    if "could not be found in file" in cause:  # a column
        return (
            f"{store} has windows of an earlier version, and its index stays as it is. Run deaps "
            "preprocess, which makes them again"
        )
    return (
        f"the new index of {store} could not be written, and the published one stays: {cause}. "
        "Check the free disk space, run deaps doctor --verify, then run the command again"
    )


def _insert_snapshot(connection: DuckDBPyConnection, snapshot: Snapshot) -> None:
    values = {name: getattr(snapshot, name) for name in Snapshot.__slots__ if name != "rebuilt"}
    values["settings"] = json.dumps(snapshot.settings)
    values["versions"] = json.dumps(snapshot.versions)
    values["skipped"] = list(snapshot.skipped)
    named = ", ".join(f"${name} AS {name}" for name in values)
    connection.execute(f"INSERT INTO snapshot BY NAME SELECT {named}", values)
