"""One night through preprocessing, publication and embedding, and one step of training.

Processor time, because others may use the machine.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray

from deaps import load_encoder
from deaps.config import ModelSettings
from deaps.embed import embed_windows
from deaps.methods import build_method
from deaps.training.device import keep_freed_memory
from flows.config import load_settings
from flows.ingest.recording import preprocess_chunk
from flows.ingest.scan import scan
from storage.files import index_path
from tests.bench.made_rows import narrow_recordings
from tests.bench.training import made_batch, step_of
from tests.storage.made_store import publish_rows

REPEATS = 3
BATCH = 256
WINDOWS_A_NIGHT = 2880
NIGHTS = 400


def main(folder: str) -> None:
    """Print what was measured as JSON."""
    root = Path(folder)
    seconds = [cpu_seconds(lambda k=k: preprocess(root, k)) for k in range(REPEATS)]
    (file,) = (root / "store-0").rglob("*.parquet")
    (night,) = (root / "shhs").rglob("shhs2-*.edf")
    windows = made_windows()
    encoder = load_encoder()
    embed_windows(encoder, windows[:256])
    embed_s = cpu_seconds(lambda: embed_windows(encoder, windows))
    print(json.dumps({
        "preprocess_s": median(seconds), "file_bytes": file.stat().st_size,
        "windows_a_s": len(windows) / embed_s, "step_s": step_seconds(),
        "edf_bytes": night.stat().st_size, **index_costs(root / "large"),
    }))  # fmt: skip


def preprocess(root: Path, repeat: int) -> None:
    """Scan and preprocess the second visit, 8 h at 250 Hz, into an empty store."""
    overrides = [f"data.shhs={root}/shhs", f"store.root={root}/store-{repeat}"]
    found = scan(load_settings(overrides=overrides))
    job, night = next((j, r) for j, r in found.todo() if r.name.startswith("shhs2"))
    preprocess_chunk(job, [night])


def made_windows() -> NDArray[np.float32]:
    """Return as many windows of noise as an 8 h night has."""
    return np.random.default_rng(0).standard_normal((WINDOWS_A_NIGHT, 1000), np.float32)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def index_costs(store: Path) -> dict[str, float]:
    """Return bytes of a large index, and processor time of publishing it, for each window."""
    rows = narrow_recordings(store, NIGHTS, WINDOWS_A_NIGHT)
    publish_s = cpu_seconds(lambda: publish_rows(store, rows))
    windows = sum(row.n_windows for row in rows)
    return {
        "index_bytes_a_window": index_path(store).stat().st_size / windows,
        "publish_s_a_million": 1e6 * publish_s / windows,
    }


def step_seconds() -> float:
    """Return the processor time of a DEAPS step at the paper's batch, on one thread."""
    torch.set_num_threads(1)
    keep_freed_memory()
    step = step_of(build_method("deaps", ModelSettings()), made_batch(BATCH))
    return median(cpu_seconds(step) for _ in range(REPEATS))


if __name__ == "__main__":
    main(sys.argv[1])
