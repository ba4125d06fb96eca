"""What a reader of windows needs about each recording, loaded from the index once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storage.windows.normalisation import DatasetScaling, dataset_scaling

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_RECORDINGS = """
SELECT recording_id, dataset, path, bytes, file_sha256, signal_offset, n_windows,
       n_samples::DOUBLE AS n_samples, mean_mv, std_mv
FROM recordings
WHERE status = 'ok' AND path IS NOT NULL
ORDER BY recording_id
"""


@dataclass(frozen=True, slots=True)
class StoreCatalogue:
    """Facts by slot: a recording's slot is its position among the recordings with windows."""

    snapshot_id: str
    recording_ids: NDArray[np.int32]
    paths: list[str]
    digests: list[str | None]
    sizes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    n_windows: NDArray[np.int64]
    scaling: DatasetScaling
    slot_of_id: NDArray[np.int64]

    def resolve(
        self, recording_ids: ArrayLike, rows: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return slots and rows (n,), and raise an error if one of them does not exist."""
        ids, wanted = _integers(recording_ids, "recording_ids"), _integers(rows, "rows")
        if ids.shape != wanted.shape:
            message = f"recording_ids has length {len(ids)}, rows {len(wanted)}; expected equal"
            raise ValueError(message)
        slots = self.slots(ids)
        outside = (wanted < 0) | (wanted >= self.n_windows[slots])
        if outside.any():
            first = int(np.flatnonzero(outside)[0])
            last_row = self.n_windows[slots[first]] - 1
            message = f"row {wanted[first]} of recording {ids[first]}: allowed are 0 to {last_row}"
            raise IndexError(message)
        return slots, wanted

    def slots(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slots of recordings."""
        inside = (ids >= 0) & (ids < len(self.slot_of_id))
        slots = np.where(inside, self.slot_of_id[np.where(inside, ids, 0)], -1)
        if (slots < 0).any():
            unknown = np.unique(ids[slots < 0])
            message = (
                f"no windows of recording {unknown[:5].tolist()} in snapshot "
                f"{self.snapshot_id[:12]}, which has {len(self.paths)} recordings with windows; "
                "see the recordings table"
            )
            raise KeyError(message)
        return slots


def load_catalogue(connection: DuckDBPyConnection) -> StoreCatalogue:
    """Return the catalogue of an open index."""
    (snapshot_id,) = connection.execute("SELECT snapshot_id FROM snapshot").fetchall()[0]
    columns: dict[str, Any] = connection.execute(_RECORDINGS).fetchnumpy()
    ids = np.asarray(columns["recording_id"], np.int32)
    slot_of_id = np.full(int(ids.max(initial=0)) + 1, -1, np.int64)
    slot_of_id[ids] = np.arange(len(ids))
    moments = [_floats(columns[name]) for name in ("n_samples", "mean_mv", "std_mv")]
    return StoreCatalogue(
        snapshot_id=str(snapshot_id),
        recording_ids=ids,
        paths=[str(path) for path in columns["path"]],
        digests=[str(digest) if digest else None for digest in columns["file_sha256"]],
        sizes=np.asarray(columns["bytes"], np.int64),
        offsets=np.asarray(columns["signal_offset"], np.int64),
        n_windows=np.asarray(columns["n_windows"], np.int64),
        scaling=dataset_scaling(np.asarray(columns["dataset"], object), *moments),
        slot_of_id=slot_of_id,
    )


def _floats(column: Any) -> NDArray[np.float64]:
    return np.ma.filled(np.ma.asarray(column, np.float64), np.nan)  # DuckDB masks NULLs


def _integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        given = f"{array.dtype} {array.shape}"
        raise ValueError(f"{name} is {given}; expected integers of one dimension")
    return array.astype(np.int64)
