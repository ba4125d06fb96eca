"""Features of windows on disk: one Parquet file for each representation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deaps.embed import embedding_table
from deaps.probing.examples import Windows
from storage.atomic import replacing


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Windows by ascending key, with their features, (m, d)."""

    key: NDArray[np.int64]
    features: NDArray[np.float32]

    def of(self, windows: Windows) -> NDArray[np.float32]:
        """Return the features of windows, in their order.

        Raises
        ------
        KeyError
            If one of them is not in the table.
        """
        wanted = windows.key
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        if missing := int((self.key[place] != wanted).sum()):
            raise KeyError(f"{missing} of {len(wanted)} windows have no features")
        return self.features[place]


def write_features(path: Path, windows: Windows, features: NDArray[np.float32]) -> None:
    """Write the features of windows, (m, d), under a temporary name first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        pq.write_table(embedding_table(windows.recording_id, windows.row, features), temporary)


def read_features(path: Path) -> FeatureTable:
    """Return the features in a file."""
    with path.open("rb") as stream:  # a stream, because a name could be a pattern
        table = pq.read_table(stream)
    ids, rows = (table[name].to_numpy() for name in ("recording_id", "row"))
    values = table["embedding"].combine_chunks().flatten()
    features = values.to_numpy(zero_copy_only=False).reshape(len(ids), -1)
    key = Windows(ids, rows).key
    order = np.argsort(key)
    return FeatureTable(key[order], features[order])
