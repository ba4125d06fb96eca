"""Download of a data set by its name."""

from __future__ import annotations

from pathlib import Path

from preprocessing.datasets import DATASETS
from storage.errors import DeapsError

__all__ = ["DeapsError", "fetch"]


def fetch(name: str, folder: Path) -> None:
    """Download one data set into ``folder``, going on where an earlier download stopped.

    Raises
    ------
    DeapsError
        For names that no data set has, and for data sets that cannot be downloaded from here.
    """
    if name not in DATASETS:
        raise DeapsError(f"no data set {name!r}; possible: {', '.join(DATASETS)}")
    DATASETS[name].fetch(folder)
