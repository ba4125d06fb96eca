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


def main(folder: str, name: str) -> None:
    """Print the fastest of a few runs, each into an empty store, and a worker's peak memory.

    Workers do not publish, so memory is watched in runs without it, which come first and also
    warm imports and caches, as a worker's earlier recordings do.
    """
    with MemoryPeak() as memory:
        for repeat in range(REPEATS):
            preprocess(settings_for(folder, f"memory-{repeat}"), name)
    seconds = []
    for repeat in range(REPEATS):
        settings = settings_for(folder, f"time-{repeat}")
        started = time.perf_counter()
        publish_scan(*preprocess(settings, name), settings)
        seconds.append(time.perf_counter() - started)
    print(json.dumps({"s": min(seconds), "peak_mb": memory.peak_mb}))


def settings_for(folder: str, store: str) -> Settings:
    """Return settings with a store of its own."""
    return load_settings(overrides=[f"data.shhs={folder}/shhs", f"store.root={folder}/{store}"])


def preprocess(settings: Settings, name: str) -> tuple[Scan, list[RecordingRow]]:
    """Scan, preprocess one recording, and return both as if it were the only one."""
    found = scan(settings)
    job, night = next((j, r) for j, r in found.todo() if r.name == name)
    (dataset,) = found.datasets
    alone = replace(found, datasets=[replace(dataset, recordings={name: night})])
    return alone, [preprocess_recording(job, night)]


if __name__ == "__main__":
    main(*sys.argv[1:])
