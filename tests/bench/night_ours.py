"""Our chain on one night: hash, read, process, write, publish."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

from flows.config import Settings, load_settings
from flows.ingest.publication import publish_scan
from flows.ingest.recording import preprocess_recording
from flows.ingest.scan import Scan, scan
from storage.schema import RecordingRow
from tests.bench.isolated import MemoryPeak

REPEATS = 3


def main(folder: str, name: str, indices: str) -> None:
    """Print the fastest of a few runs, each into an empty store, and a worker's peak memory.

    Workers do not publish, so memory is watched in runs without it, which come first and also
    warm imports and caches, as a worker's earlier recordings do.
    """
    with MemoryPeak() as memory:
        for repeat in range(REPEATS):
            preprocess(settings_for(folder, f"memory-{indices}-{repeat}", indices), name)
    seconds = []
    for repeat in range(REPEATS):
        settings = settings_for(folder, f"time-{indices}-{repeat}", indices)
        started = time.perf_counter()
        publish_scan(*preprocess(settings, name), settings)
        seconds.append(time.perf_counter() - started)
    print(json.dumps({"s": min(seconds), "peak_mb": memory.peak_mb}))


def settings_for(folder: str, store: str, indices: str) -> Settings:
    """Return settings with a store of its own, with or without qSQI."""
    qsqi = "true" if indices == "four" else "false"
    store_root = f"store.root={folder}/{store}"
    return load_settings(overrides=[f"data.shhs={folder}/shhs", store_root, f"quality.qsqi={qsqi}"])


def preprocess(settings: Settings, name: str) -> tuple[Scan, list[RecordingRow]]:
    """Scan, preprocess one recording, and return both as if it were the only one."""
    found = scan(settings)
    job, night = next((j, r) for j, r in found.todo() if r.name == name)
    (dataset,) = found.datasets
    alone = replace(found, datasets=[replace(dataset, found={name: night})])
    return alone, [preprocess_recording(job, night)]


if __name__ == "__main__":
    main(*sys.argv[1:])
