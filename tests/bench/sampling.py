"""Drawing and reading DEAPS batches, and what the sampler holds of 16 million windows.

``python -m tests.bench.sampling INDEX`` prints the memory of one process as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from deaps.config import SamplingSettings
from deaps.sampling.loader import BatchLoader
from deaps.sampling.sampler import Sampler, Views, open_sampler
from storage import Quality
from tests.bench.figure import Figure
from tests.bench.isolated import MemoryPeak, anonymous_memory_mb, run_isolated
from tests.bench.made_rows import narrow_recordings
from tests.storage.made_store import make_row, publish_rows, write_recording

SUBJECTS, WINDOWS, BATCH = 100, 720, 256
NEEDED = 20
"""Steps a second of the fastest training that is expected."""
BATCHES, ROUNDS = 40, 15
MANY_RECORDINGS, MANY_WINDOWS = 8444, 1915


def measure(folder: Path) -> list[Figure]:
    """Return batches a second against the need, and memory with 16 million usable windows."""
    rates = batches_a_second(folder / "store")
    publish_rows(folder / "many", narrow_recordings(folder / "many", MANY_RECORDINGS, MANY_WINDOWS))
    memory = run_isolated("tests.bench.sampling", str(folder / "many"))
    return [
        Figure(
            "DEAPS batches of 256 drawn and read, against 20 steps a second",
            rates["loader"] / NEEDED, "times", 3, 10, seen=rates,
        ),
        Figure(
            "memory of the sampler with 16 million windows, loading included",
            memory["peak_mb"], "MB", 1000, higher=False, seen=memory,
        ),
    ]  # fmt: skip


def batches_a_second(store: Path) -> dict[str, float]:
    """Return the rates of drawing alone and of the loader, the fastest rounds of a few."""
    publish_visits(store)
    sampler = open_sampler(store, Views.QUADRUPLE, SamplingSettings(), batch=BATCH, seed=0)
    ways: dict[str, Callable[[Sampler], float]] = {
        "draw": draw_some,
        "loader": lambda sampler: load_some(store, sampler),
    }
    rates = dict.fromkeys(ways, 0.0)
    for _ in range(ROUNDS):
        for name, way in ways.items():
            rates[name] = max(rates[name], BATCHES / way(sampler))
    return rates


def publish_visits(store: Path) -> None:
    """Publish two recordings of each subject; every third window is of no use."""
    rows = [
        write_recording(
            store, make_row(f"v{visit}-{k}", subject=str(k), visit=visit), WINDOWS, seed=k
        )
        for k in range(SUBJECTS)
        for visit in (1, 2)
    ]
    publish_rows(store, rows)


def draw_some(sampler: Sampler) -> float:
    """Return the seconds of some draws."""
    started = time.perf_counter()
    for step in range(BATCHES):
        sampler.draw(step)
    return time.perf_counter() - started


def load_some(store: Path, sampler: Sampler) -> float:
    """Return the seconds of some batches, after one that maps files."""
    with BatchLoader(store, store / "index.duckdb", sampler) as loader:
        batches = iter(loader)
        for _ in islice(batches, 5):
            pass
        started = time.perf_counter()
        for _ in islice(batches, BATCHES):
            pass
        return time.perf_counter() - started


def memory_of(index: Path) -> dict[str, float]:
    """Return RssAnon before, at most, and after loading and drawing with every window usable."""
    settings = SamplingSettings(qualities=tuple(map(str, Quality)))
    before_mb = anonymous_memory_mb()
    with MemoryPeak() as memory:
        sampler = open_sampler(index, Views.QUADRUPLE, settings, batch=BATCH, seed=0)
        draw_s = draw_some(sampler) / BATCHES
    return {
        "windows": len(sampler.pool.rows),
        "before_mb": before_mb,
        "peak_mb": memory.peak_mb,
        "after_mb": anonymous_memory_mb(),
        "draw_s": draw_s,
    }


if __name__ == "__main__":
    print(json.dumps(memory_of(Path(sys.argv[1]))))
