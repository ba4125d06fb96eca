"""Reading one recording of a data set, and leads to write it with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from preprocessing.datasets import DATASETS
from preprocessing.recording import RawRecording
from tests.edf_files import beats


def read(dataset: str, root: Path, name: str) -> RawRecording:
    recordings = {recording.name: recording for recording in DATASETS[dataset].find(root)}
    return DATASETS[dataset].read(root, recordings[name], ())


def two_leads(seconds: float, fs: float, first: str, second: str) -> dict[str, np.ndarray]:
    return {first: beats(seconds, fs, seed=1), second: -beats(seconds, fs, seed=2)}
