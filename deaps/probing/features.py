"""Features of windows on disk: one Parquet file for each representation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from deaps.probing.examples import Windows
from storage.errors import DeapsError
from storage.files import file_sha256, replacing


class FeatureFileError(DeapsError):
    """A file of features that is not what was written."""


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Windows by ascending key, with their features, (m, d)."""

    key: NDArray[np.uint64]
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
    """Write the features of windows, (m, d), and then their digest, without which they are none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        pq.write_table(feature_table(windows, features), temporary)
        digest = file_sha256(temporary)
    with replacing(_digest_path(path)) as temporary:
        temporary.write_text(f"{digest}\n", encoding="ascii")


def has_features(path: Path) -> bool:
    """Return whether a file of features is there, with the bytes that were written."""
    return path.exists() and _noted_digest(path) == file_sha256(path)


def read_features(path: Path) -> FeatureTable:
    """Return the features in a file.

    Raises
    ------
    FeatureFileError
        If its bytes are not those that were written.
    """
    content = path.read_bytes()
    if _noted_digest(path) != hashlib.sha256(content).hexdigest():
        raise FeatureFileError(f"{path} is damaged; run deaps evaluate again, which makes it anew")
    table = pq.read_table(pa.BufferReader(content))
    contents, rows = (table[name].to_numpy() for name in ("content", "row"))
    values = table["features"].combine_chunks().flatten()
    features = values.to_numpy(zero_copy_only=False).reshape(len(rows), -1)
    key = Windows(np.zeros(len(rows), np.int32), rows, contents).key
    order = np.argsort(key)
    return FeatureTable(key[order], features[order])


def feature_table(windows: Windows, features: NDArray[np.float32]) -> pa.Table:
    """Return features beside their windows: the beginning of the recording's digest, and the row.

    Numbers of recordings are of one index, and an index may be built anew.
    """
    values = pa.array(np.ascontiguousarray(features).reshape(-1))
    return pa.table(
        {
            "content": pa.array(windows.content, pa.uint64()),
            "row": pa.array(windows.row, pa.int32()),
            "features": pa.FixedSizeListArray.from_arrays(values, features.shape[1]),
        }
    )


def _digest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _noted_digest(path: Path) -> str | None:
    try:
        return _digest_path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
