"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

REAL_DATA_VARIABLE = "DEAPS_REAL_DATA"

# Machines are shared: the time of an example says nothing.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")


def real_folder(name: str) -> Path | None:
    """Return the folder of one real data set, None where the variable names none that has it."""
    given = os.environ.get(REAL_DATA_VARIABLE)
    path = Path(given) / name if given else None
    return path if path and path.is_dir() else None


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """Return the folder of one real data set, or skip the test where it is absent."""

    def folder(name: str) -> Path:
        path = real_folder(name)
        if path is None:
            given = os.environ.get(REAL_DATA_VARIABLE)
            pytest.skip(f"no real {name}: {REAL_DATA_VARIABLE} is {given!r}")
        return path

    return folder
