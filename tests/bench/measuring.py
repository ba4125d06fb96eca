"""One measurement, in a module that a process of its own can import."""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path

from tests.bench.figure import Figure, Measure


def measure_one(name: str) -> list[Figure]:
    """Return the figures of one measurement, made in an empty folder."""
    measure: Measure = import_module(f"tests.bench.{name}").measure
    with tempfile.TemporaryDirectory(prefix="deaps-bench-") as folder:
        return measure(Path(folder))
