"""``python -m tests.bench [NAME ...]``: measure, print the table, write bench.json."""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from tests.bench.figure import Figure, Measure

BENCHES = (
    "night",
    "quality",
    "reading",
    "index",
    "rerun",
    "orchestration",
    "sampling",
    "training",
)
RESULTS = Path("bench.json")


def main(names: Iterable[str]) -> None:
    """Run the named measurements, or all."""
    figures: list[Figure] = []
    for name in list(names) or BENCHES:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        # In a process of its own: libraries keep threads and memory of what was measured before.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            figures += process.submit(measure_one, name).result()
        write(figures)
    print(markdown(figures))


def measure_one(name: str) -> list[Figure]:
    """Return the figures of one measurement, made in an empty folder."""
    measure: Measure = import_module(f"tests.bench.{name}").measure
    with tempfile.TemporaryDirectory(prefix="deaps-bench-") as folder:
        return measure(Path(folder))


def write(figures: list[Figure]) -> None:
    """Write what is measured so far."""
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    told = [asdict(figure) | {"verdict": figure.verdict} for figure in figures]
    RESULTS.write_text(json.dumps({"machine": machine, "figures": told}, indent=1) + "\n")


def markdown(figures: list[Figure]) -> str:
    """Return the table of the README."""
    lines = ["| figure | measured | bar | beyond | |", "| --- | --- | --- | --- | --- |"]
    for f in figures:
        beyond = "" if f.beyond is None else f"{f.beyond:g}"
        measured = f"{f.value:.3g} {f.unit}"
        lines.append(f"| {f.name} | {measured} | {f.bar:g} | {beyond} | {f.verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
