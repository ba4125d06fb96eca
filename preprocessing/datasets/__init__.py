"""The data sets that can be read: one file each, found by themselves.

Others join from outside: a package names its own in the entry-point group ``deaps.datasets``, a
script calls `register`.
"""

from __future__ import annotations

from preprocessing.datasets.interface import (
    DATASETS,
    DataSet,
    fetch_dataset,
    register,
)

__all__ = ["DATASETS", "DataSet", "fetch_dataset", "register"]
