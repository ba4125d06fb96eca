"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

REAL_DATA = Path(os.environ.get("DEAPS_REAL_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """Return the folder of one real data set, or skip the test where it is absent."""

    def folder(name: str) -> Path:
        path = REAL_DATA / name
        if not path.is_dir():
            pytest.skip(f"no real recordings at {path} (set DEAPS_REAL_DATA)")
        return path

    return folder
