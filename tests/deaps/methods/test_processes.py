from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch.multiprocessing as multiprocessing

from tests.deaps.methods.processes import CASES, WORLD, compare


@pytest.fixture(scope="module")
def differences(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, float]]:
    folder = tmp_path_factory.mktemp("processes")
    multiprocessing.spawn(compare, args=(str(folder),), nprocs=WORLD)
    read: dict[str, tuple[str, float]] = json.loads(Path(folder, "differences.json").read_text())
    return read


@pytest.mark.parametrize("case", CASES)
def test_two_processes_compute_what_one_does(
    case: str, differences: dict[str, tuple[str, float]]
) -> None:
    what, apart = differences[case]
    assert apart < 1e-5, what
