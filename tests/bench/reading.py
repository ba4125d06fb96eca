"""Random windows from the store, against Parquet row groups and a plain .npy file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from storage import WindowStore
from tests.bench.figure import Figure
from tests.bench.made_rows import publish_recordings

RECORDINGS, WINDOWS, BATCH = 100, 720, 1024
ROW_GROUP = 64
ROUNDS = 5

Drawn = tuple[NDArray[np.int64], NDArray[np.int64]]


def measure(folder: Path) -> list[Figure]:
    """Return windows a second of `WindowStore.read` as ratios to two other ways.

    Rounds of the three ways alternate and the fastest round of each counts, because other
    programs share the machine.
    """
    signals = np.random.default_rng(0).normal(size=(RECORDINGS, WINDOWS, 1000)).astype(np.float16)
    publish_recordings(folder / "store", signals)
    store = WindowStore(folder / "store")
    groups = write_row_groups(folder, signals)
    np.save(folder / "all.npy", signals.reshape(-1, 1000))
    flat = np.load(folder / "all.npy", mmap_mode="r")
    del signals
    ways: dict[str, tuple[Callable[[Drawn], object], int]] = {
        "store": (lambda drawn: store.read(drawn[0] + 1, drawn[1]), 40),
        "npy": (lambda drawn: flat[drawn[0] * WINDOWS + drawn[1]].astype(np.float32), 40),
        "row groups": (lambda drawn: read_row_groups(groups, drawn), 1),
    }
    rates = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for name, (read, batches) in ways.items():
            rates[name] = max(rates[name], windows_a_second(read, batches))
    return [
        Figure(
            "random windows a second, 1,024 at a time, against pyarrow row-group reads",
            rates["store"] / rates["row groups"], "times", 30, 100, seen=rates,
        ),
        Figure(
            "the same against a numpy gather from a memory-mapped .npy",
            rates["store"] / rates["npy"], "of it", 0.5, 0.7, seen=rates,
        ),
    ]  # fmt: skip


def windows_a_second(read: Callable[[Drawn], object], batches: int) -> float:
    """Return the rate of one way over some random batches."""
    rng = np.random.default_rng(1)
    draws = [
        (rng.integers(0, RECORDINGS, BATCH), rng.integers(0, WINDOWS, BATCH))
        for _ in range(batches)
    ]
    read(draws[0])
    started = time.perf_counter()
    for drawn in draws:
        read(drawn)
    return batches * BATCH / (time.perf_counter() - started)


def write_row_groups(folder: Path, signals: NDArray[np.float16]) -> list[pq.ParquetFile]:
    """Write each recording as an ordinary Parquet file with row groups of 64 windows."""
    files = []
    for k, windows in enumerate(signals):
        values = pa.FixedSizeListArray.from_arrays(pa.array(windows.reshape(-1)), 1000)
        path = folder / f"{k}.parquet"
        pq.write_table(pa.table({"signal": values}), path, row_group_size=ROW_GROUP)
        files.append(pq.ParquetFile(path))
    return files


def read_row_groups(files: list[pq.ParquetFile], drawn: Drawn) -> NDArray[np.float32]:
    """Read, for each window, the row group that holds it."""
    out = np.empty((BATCH, 1000), np.float32)
    for i, (recording, row) in enumerate(zip(*drawn, strict=True)):
        group = files[recording].read_row_group(row // ROW_GROUP, columns=["signal"])
        values = group["signal"].chunk(0).flatten().to_numpy()
        out[i] = values[(row % ROW_GROUP) * 1000 :][:1000]
    return out
