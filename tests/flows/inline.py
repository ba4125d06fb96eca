"""The preprocessing stage in one process, without Prefect and Dask: the same calls."""

from __future__ import annotations

from collections import ChainMap
from pathlib import Path
from typing import Any

import duckdb

from flows.config import Settings, load_settings
from flows.ingest.publication import publish_scan
from flows.ingest.recording import ChunkResult, preprocess_chunk, rescore
from flows.ingest.scan import Scan, Why, scan
from storage.snapshot import Snapshot


def settings_for(store: Path, *overrides: str, **roots: Path) -> Settings:
    """Return settings with data roots by name and further overrides."""
    data = [f"data.{name}={root}" for name, root in roots.items()]
    return load_settings(overrides=[f"store.root={store}", *data, *overrides])


def todo(settings: Settings) -> dict[str, Why]:
    """Return what the scan would do, by recording."""
    return {name: why for d in scan(settings).datasets for name, why in d.todo.items()}


def run(settings: Settings) -> Snapshot:
    """Do what the flow does."""
    found = scan(settings)
    results = [preprocess_chunk(job, [recording]) for job, recording in found.todo()]
    return publish_results(found, results, settings)


def publish_results(found: Scan, results: list[ChunkResult], settings: Settings) -> Snapshot:
    """Publish what workers returned, and the stages and events that changed alone."""
    rows = [row for result in results for row in result.rows]
    scorings = dict(ChainMap(*(result.scorings for result in results)))
    rescorings = {
        (job.dataset, name): rescoring
        for job, recordings in found.to_rescore()
        for name, rescoring in rescore(job, recordings).items()
    }
    return publish_scan(found, rows, settings, scorings=scorings, rescorings=rescorings)


def ask(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a question to the published index."""
    with duckdb.connect(settings.store.root / "index.duckdb", read_only=True) as index:
        return index.execute(sql).fetchall()


def one(settings: Settings, sql: str) -> Any:
    """Return the only value of a question's only row."""
    ((value,),) = ask(settings, sql)
    return value
