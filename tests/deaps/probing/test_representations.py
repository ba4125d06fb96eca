"""The files of features that an evaluation compares."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deaps.probing.examples import Windows
from deaps.probing.representations import run_files
from storage.errors import DeapsError


def test_run_whose_folder_was_removed_is_named(tmp_path: Path) -> None:
    finished: Any = SimpleNamespace(run=SimpleNamespace(name="byol-1", folder=tmp_path / "gone"))
    windows = Windows(np.zeros(1, np.int32), np.zeros(1, np.int32))
    with pytest.raises(DeapsError, match=r"byol-1 has no encoder.*run deaps train"):
        list(run_files(finished, windows, every_step=False))
