"""What one night costs: the rates that docs/scale.md computes everything else from."""

from __future__ import annotations

from pathlib import Path

from preprocessing.config import SynthSettings
from preprocessing.synth import DATASETS
from tests.bench.figure import Figure
from tests.bench.isolated import run_isolated


def measure(folder: Path) -> list[Figure]:
    """Return processor time and disk of an 8 h night, and processor time of a training step."""
    DATASETS["shhs"].write(folder / "shhs", SynthSettings(shhs_subjects=1, shhs_hours=8.0))
    seen = run_isolated("tests.bench.scale_night", str(folder))
    return [
        Figure(
            "8 h night at 250 Hz, EDF and two scorings to window file: processor time",
            seen["preprocess_s"], "s", 2, 1, higher=False, seen=seen,
        ),
        Figure("its window file", seen["file_bytes"] / 1e6, "MB", 7, 6, higher=False),
        Figure(
            "a window in a large index", seen["index_bytes_a_window"], "bytes", 60, 40,
            higher=False,
        ),
        Figure(
            "publishing a million windows: processor time", seen["publish_s_a_million"], "s",
            10, 2, higher=False,
        ),
        Figure(
            "embedding with the shipped encoder, one thread",
            seen["windows_a_s"], "windows a second of processor time", 200, 400,
        ),
        Figure(
            "DEAPS step at batch 256, one thread: processor time", seen["step_s"], "s", 20, 10,
            higher=False,
        ),
    ]  # fmt: skip
