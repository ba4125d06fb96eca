"""``python -m tests.bench [NAME ...]``: measure, print the table, write bench.json."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from tests.bench.figure import Figure
from tests.bench.measuring import measure_one

BENCHES = (
    "night",
    "quality",
    "beats",
    "reading",
    "index",
    "rerun",
    "sleep",
    "orchestration",
    "sampling",
    "training",
    "classification",
    "evidence",
    "full_size",
    "operations",
    "pools",
    "everyday",
    "scale",
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


def write(figures: list[Figure]) -> None:
    """Write what is measured so far."""
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    measured = [asdict(figure) | {"verdict": figure.verdict} for figure in figures]
    RESULTS.write_text(json.dumps({"machine": machine, "figures": measured}, indent=1) + "\n")


def markdown(figures: list[Figure]) -> str:
    """Return the figures as a table, with the bars that they must reach."""
    lines = ["| figure | measured | bar | beyond | |", "| --- | --- | --- | --- | --- |"]
    for f in figures:
        beyond = "" if f.beyond is None else f"{f.beyond:g}"
        measured = f"{f.value:.3g} {f.unit}"
        lines.append(f"| {f.name} | {measured} | {f.bar:g} | {beyond} | {f.verdict} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
