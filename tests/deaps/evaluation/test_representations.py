"""The files of features that an evaluation compares."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from deaps.evaluation import representations
from deaps.evaluation.examples import Windows
from deaps.evaluation.representations import representation_records, run_files
from deaps.experiment import Experiment, FinishedRun
from storage.errors import DeapsError
from tests.deaps.evaluation.outcomes.test_judging import trained


def test_run_whose_folder_was_removed_is_named(tmp_path: Path) -> None:
    finished: Any = SimpleNamespace(run=SimpleNamespace(name="byol-1", folder=tmp_path / "gone"))
    windows = Windows(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint64))
    with pytest.raises(DeapsError, match=r"byol-1 has no encoder.*run deaps train"):
        list(run_files(finished, windows, every_step=False))


def test_a_seed_that_was_planned_and_not_trained_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(representations, "encoder_digests", lambda _: {10: "abc"})
    planned = [trained("byol", seed) for seed in (0, 1)]
    run: Any = SimpleNamespace(name="byol-1", folder=None, plan=planned[1].plan)
    file: Any = SimpleNamespace(representation="byol", step=None)
    (record,) = representation_records(
        Experiment(tuple(planned), ()), [FinishedRun(planned[1], run)], [file]
    )
    assert [each.seed for each in record.runs] == [1]
    assert record.missing_seeds == (0,)
