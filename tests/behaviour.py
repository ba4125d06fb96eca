"""What a refactoring must leave as it is: ``python -m tests.behaviour FILE`` after ``make demo``.

It writes the snapshot's id of the demo cohort, the losses of 20 steps of each method in float32,
every number of the demo's evaluation, and what the shipped encoder makes of its test window. With
``--compare`` it compares them with an earlier FILE, name by name, and exits with 1 if they differ.
Numbers of two machines differ by rounding, so record and compare on one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

_TOLERANCE = 1e-9
_TIMES = ("windows_per_s", "waiting_share", "step_s")
"""Measurements of time, which differ from run to run."""


def main() -> None:
    """Record the behaviour of this code, or compare it with what was recorded."""
    parser = argparse.ArgumentParser(prog="python -m tests.behaviour", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--store", type=Path, default=Path("demo-store"))
    options = parser.parse_args()
    now = behaviour(options.store)
    if not options.compare:
        options.file.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n")
        print(f"{len(now):,} numbers and names: {options.file}")
        return
    before = json.loads(options.file.read_text())
    before, now = (
        {name: value for name, value in each.items() if not set(_TIMES) & set(name.split("/"))}
        for each in (before, now)
    )
    differing = sorted(name for name in before | now if not _equal(before.get(name), now.get(name)))
    for name in differing[:40]:
        print(f"{name}: {before.get(name)} became {now.get(name)}")
    print(f"{len(differing)} of {len(before | now):,} differ")
    sys.exit(1 if differing else 0)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= _TOLERANCE * max(1.0, abs(one))
    return bool(one == other)


def behaviour(store: Path) -> dict[str, Any]:
    """Return every number and name by where it stands."""
    found: dict[str, Any] = dict(_snapshot(store))
    found |= _losses(store)
    found |= dict(_numbers("evaluation", json.loads(_newest_evaluation(store).read_text())))
    found |= _encoder()
    return found


def _snapshot(store: Path) -> Iterator[tuple[str, Any]]:
    from storage.snapshot import open_index, read_snapshot

    with open_index(store) as index:
        snapshot = read_snapshot(index)
    yield "snapshot", snapshot.snapshot_id
    yield "windows", snapshot.n_windows


def _losses(store: Path) -> dict[str, float]:
    """Train 20 steps of each method in a store that shares the windows, and return each loss."""
    from deaps.method_registry import method_names
    from deaps.train import train_run
    from deaps.training.metrics import read_metrics
    from deaps.training.run_folder import create_run
    from flows.config import load_settings
    from flows.experiment.plan import plan_experiment

    losses: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "store"
        copy.mkdir()
        (copy / "windows").symlink_to((store / "windows").resolve())
        for name in ("index.duckdb", "index.duckdb.sha256"):
            (copy / name).write_bytes((store / name).read_bytes())
        for method in method_names():
            settings = load_settings(
                preset="demo",
                overrides=[
                    f"store.root={copy}", f'experiment.methods=["{method}"]',
                    f"experiment.reference={method}", "experiment.ablations=[]",
                    "training.iterations=20", "training.tfc_iterations=20",
                    "training.precision=float32", "training.checkpoint_every=20",
                    "training.evolution_every=20",
                ],
            )  # fmt: skip
            (trained,) = plan_experiment(settings).trained[:1]
            run = create_run(copy, trained.plan)
            train_run(run.folder, device="cpu")
            for row in read_metrics(run.folder):
                losses[f"loss/{method}/{row['step']}"] = row["loss"]
    return losses


def _newest_evaluation(store: Path) -> Path:
    return max(store.glob("reports/*/evaluation.json"), key=lambda path: path.stat().st_mtime)


def _numbers(where: str, value: Any) -> Iterator[tuple[str, float]]:
    """Yield every number of a document by its path; times and versions are of the machine."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("created_at", "provenance", "seconds", "versions"):
                yield from _numbers(f"{where}/{name}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _numbers(f"{where}/{place}", inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where, float(value)


def _encoder() -> dict[str, float]:
    from deaps import load_encoder
    from deaps.embed import embed_windows
    from deaps.models.contract import reference_window

    vector = embed_windows(load_encoder(), reference_window())[0].astype(np.float64)
    return {f"encoder/{place}": float(value) for place, value in enumerate(vector)}


if __name__ == "__main__":
    main()
