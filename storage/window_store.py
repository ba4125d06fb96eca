"""Reading windows: any windows of any recordings, as float32, straight from the mapped files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storage.config import Normalisation
from storage.layout import index_path
from storage.schema import WINDOW_SAMPLES
from storage.snapshot import open_index
from storage.windows.catalogue import StoreCatalogue, load_catalogue
from storage.windows.half_precision import widen
from storage.windows.mmap_cache import WINDOW, MapCache, map_windows
from storage.windows.normalisation import normalise_windows

_BLOCK = 1024
"""Windows gathered at a time: 2 MB of float16 beside a result of any size."""
_PART = 128
"""Windows converted at a time: few enough for the processor's cache."""


class _Scratch(threading.local):
    """Memory that each thread reuses: new memory from the system takes longer than reading.

    ``block`` has windows by file, ``part`` some of them in the order of the request.
    """

    def __init__(self) -> None:
        self.block = np.empty(_BLOCK, WINDOW)
        self.part = np.empty(_PART, WINDOW)


_SCRATCH = _Scratch()


class WindowStore:
    """The windows of a published store.

    Parameters
    ----------
    root
        Folder of the store.
    normalise
        ``recording`` returns the windows as stored, ``dataset`` in units of the data set's
        pooled standard deviation about its pooled mean, ``window`` each with zero mean and
        unit standard deviation.
    index
        Index to read from instead of the published one, such as ``runs/<run>/index.duckdb``.
    max_maps
        Files kept mapped at a time; default: as many as the limit of open files allows.
        Programs that read thousands of recordings at random raise that limit first with
        `storage.windows.mmap_cache.raise_open_file_limit`; a store never does.

    Notes
    -----
    The index is read once, here. A file is compared with its SHA-256 when this process first maps
    it. Threads may share a store; after pickling or forking, files are mapped again as they are
    needed.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        normalise: Normalisation = "recording",
        index: Path | str | None = None,
        max_maps: int | None = None,
    ) -> None:
        if normalise not in get_args(Normalisation):
            allowed = ", ".join(get_args(Normalisation))
            raise ValueError(f"normalise is {normalise!r}; allowed are {allowed}")
        self.root = Path(root).resolve()
        self.normalise: Normalisation = normalise
        with open_index(index_path(self.root) if index is None else index) as connection:
            self._catalogue: StoreCatalogue = load_catalogue(connection)
        self._maps = MapCache(max_maps)

    @property
    def recording_ids(self) -> NDArray[np.int32]:
        """Ids of the recordings that have windows, ascending."""
        return self._catalogue.recording_ids

    @property
    def snapshot_id(self) -> str:
        """Id of the snapshot that this store reads."""
        return self._catalogue.snapshot_id

    def n_windows(self, recording_id: int) -> int:
        """Return how many windows a recording has."""
        return int(self._catalogue.n_windows[self._catalogue.slots(np.array([recording_id]))[0]])

    def read(
        self,
        recording_ids: ArrayLike,
        rows: ArrayLike,
        *,
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Return the windows (recording_ids[i], rows[i]) as float32 (n, 1000).

        Parameters
        ----------
        recording_ids, rows
            Integers (n,), in any order, repeated or not.
        out
            Where to put the result: float32 (n, 1000), C-contiguous.
        """
        slots, wanted = self._catalogue.resolve(recording_ids, rows)
        out = _output(out, len(slots))
        for start in range(0, len(slots), _BLOCK):
            block = slice(start, start + _BLOCK)
            self._read_block(slots[block], wanted[block], out[block])
        return out

    def read_recording(self, recording_id: int) -> NDArray[np.float32]:
        """Return all windows of one recording, float32 (n_windows, 1000)."""
        rows = np.arange(self.n_windows(recording_id))
        return self.read(np.full(len(rows), recording_id), rows)

    def _read_block(
        self, slots: NDArray[np.int64], rows: NDArray[np.int64], out: NDArray[np.float32]
    ) -> None:
        places = self._gather(slots, rows, _SCRATCH.block)
        for start in range(0, len(slots), _PART):
            part = slice(start, min(start + _PART, len(slots)))
            items = _SCRATCH.part[: part.stop - start]
            _SCRATCH.block.take(places[part], out=items, mode="clip")
            widen(items.view(np.float16).reshape(out[part].shape), out[part])
            normalise_windows(out[part], self.normalise, self._catalogue.scaling, slots[part])

    def _gather(
        self, slots: NDArray[np.int64], rows: NDArray[np.int64], block: NDArray[np.void]
    ) -> NDArray[np.int64]:
        """Copy windows to ``block``, file by file; return the place of each requested window."""
        order = np.argsort(slots, kind="stable")
        sorted_slots, sorted_rows = slots[order], rows[order]
        starts = np.flatnonzero(np.diff(sorted_slots, prepend=-1))
        ends = [*starts[1:].tolist(), len(slots)]
        files = sorted_slots[starts].tolist()
        for slot, start, end in zip(files, starts.tolist(), ends, strict=True):
            # Rows are valid: "clip" only avoids the buffering that numpy needs for "raise".
            self._block(slot).take(sorted_rows[start:end], out=block[start:end], mode="clip")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return places

    def _block(self, slot: int) -> NDArray[np.void]:
        block = self._maps.get(slot)
        if block is None:
            catalogue = self._catalogue
            block = map_windows(
                self.root / catalogue.paths[slot],
                size=int(catalogue.sizes[slot]),
                offset=int(catalogue.offsets[slot]),
                n_windows=int(catalogue.n_windows[slot]),
                sha256=catalogue.digests[slot],
            )
            self._maps.put(slot, block)
        return block


def _output(out: NDArray[np.float32] | None, n: int) -> NDArray[np.float32]:
    shape = (n, WINDOW_SAMPLES)
    if out is None:
        return np.empty(shape, np.float32)
    if out.shape != shape or out.dtype != np.float32 or not out.flags.c_contiguous:
        given = f"{out.dtype} {out.shape}{'' if out.flags.c_contiguous else ', not contiguous'}"
        raise ValueError(f"out is {given}; expected C-contiguous float32 {shape}")
    return out
