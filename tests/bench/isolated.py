"""Measurements in a process of their own: one core, one thread, own memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from flows.runtime.dask_pool import WORKER_SETTINGS


def run_isolated(module: str, *arguments: str) -> dict[str, Any]:
    """Return what ``python -m module arguments`` prints as JSON, run on one core as a worker is."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **WORKER_SETTINGS["distributed.nanny.pre-spawn-environ"]},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def anonymous_memory_mb() -> float:
    """Return this process's private memory (RssAnon), in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not tell RssAnon")


class MemoryPeak:
    """Watches RssAnon while its block runs; ``peak_mb`` is the highest value seen."""

    def __enter__(self) -> MemoryPeak:
        self.peak_mb = anonymous_memory_mb()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            self.peak_mb = max(self.peak_mb, anonymous_memory_mb())
            time.sleep(0.001)
