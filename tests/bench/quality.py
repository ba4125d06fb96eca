"""The three-index class against NeuroKit2's, on all real MIT-ARR and Challenge 2017 windows."""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from preprocessing.chain import process
from preprocessing.config import QualitySettings, SignalSettings
from preprocessing.datasets import DATASETS
from preprocessing.recording import FoundRecording
from storage.schema import Quality
from tests.bench.figure import Figure
from tests.conftest import real_folder

SETS = {"mitdb": "mitdb", "challenge2017": "challenge-2017"}


def measure(_: Path) -> list[Figure]:
    """Return the share of equal classes among windows that pass the gate."""
    counts = np.zeros(3, int)
    for name, folder in SETS.items():
        root = real_folder(folder)
        if root is None:
            continue
        found = list(DATASETS[name].find(root))
        with ProcessPoolExecutor() as pool:
            counts += np.sum(list(pool.map(partial(compare, root), found, chunksize=4)), axis=0)
    windows, equal, gated = (int(n) for n in counts)
    if not windows:
        return []
    seen = {"windows": windows, "equal": equal, "gated": gated}
    name = "three-index class equal to NeuroKit2 0.2.13, MIT-ARR and Challenge 2017"
    return [Figure(name, 100 * equal / windows, "%", 99.9, 100, seen=seen)]


def compare(root: Path, found: FoundRecording) -> tuple[int, int, int]:
    """Return how many windows passed the gate, agree, and did not pass."""
    import neurokit2 as nk

    raw = DATASETS[found.dataset].read(root, found, ())
    processed = process(raw, signal=SignalSettings(), quality=QualitySettings())
    passed = ~processed.gate.rejected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = [
            nk.ecg_quality(window.astype(np.float64), sampling_rate=100, method="zhao2018")
            for window in processed.windows[passed]
        ]
    ours = [str(list(Quality)[code]) for code in processed.scores.quality3[passed]]
    equal = sum(a == b for a, b in zip(ours, oracle, strict=True))
    return len(ours), equal, int((~passed).sum())
