"""Windows by recording and row, from memory-mapped files, normalised as asked."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import mmap
import os
import resource
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storage.config import Normalisation
from storage.files import index_path
from storage.schema import WINDOW_SAMPLES
from storage.snapshot import open_index
from storage.windows import WindowFileError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_BLOCK = 1024
"""Windows gathered at a time: 2 MB of float16 next to a result of any size."""
_PART = 128
"""Windows converted at a time: few enough for the processor's cache."""

_RECORDINGS = """
SELECT recording_id, dataset, path, bytes, file_sha256, signal_offset, n_windows,
       n_samples::DOUBLE AS n_samples, mean_mv, std_mv
FROM recordings
WHERE status = 'ok' AND path IS NOT NULL
ORDER BY recording_id
"""

WINDOW = np.dtype(f"V{2 * WINDOW_SAMPLES}")
"""A window as an opaque item: blocks often start at an odd byte, which float16 cannot."""
_MOST_MAPS = 32_000
"""The kernel allows a process 65,530 maps, and libraries are mapped, too."""
_MOST_RESERVED = 256
"""Open files that are left to the rest of the process, where the limit is not too low."""
_MACOS_OPEN_MAX = 10_240
"""What macOS allows a process at most, also where its hard limit is infinite."""
_NO_MORE_MAPS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_CACHES: weakref.WeakSet[MapCache] = weakref.WeakSet()
"""All caches of this process, which share its limits."""
_VERIFIED: set[tuple[str, int, int]] = set()
"""Path, inode and time of the files that this process has compared with their digests."""

_SIGN_AND_VALUE = np.int32(-0x70000001)  # 0x8FFFFFFF: drops the copies of the sign bit
_BIAS = np.float32(2.0**112)  # 2 ** (127 - 15), the difference of the exponents' biases


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
        `storage.window_store.raise_open_file_limit`; a store never does.

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


@dataclass(frozen=True, slots=True)
class DatasetScaling:
    """From a recording's units to its data set's: ``value * gain[slot] + shift[slot]``."""

    gain: NDArray[np.float32]
    shift: NDArray[np.float32]


def pooled_moments(
    counts: NDArray[np.float64], means: NDArray[np.float64], stds: NDArray[np.float64]
) -> tuple[float, float]:
    """Return mean and population standard deviation of all samples of several groups.

    The pooled variance is the mean of the groups' variances plus the variance of their means,
    both weighted by the groups' sizes.
    """
    total = counts.sum()
    mean = float((counts * means).sum() / total)
    variance = (counts * (stds**2 + (means - mean) ** 2)).sum() / total
    return mean, float(np.sqrt(variance))


def dataset_scaling(
    datasets: NDArray[np.object_],
    counts: NDArray[np.float64],
    means: NDArray[np.float64],
    stds: NDArray[np.float64],
) -> DatasetScaling:
    """Return the scaling of each recording, all arguments by slot.

    A stored value z means ``z * std + mean`` millivolts; in the data set's units that is
    ``(z * std + mean - pooled mean) / pooled std``. Recordings without moments give NaN.
    """
    gain = np.full(len(datasets), np.nan, np.float32)
    shift = gain.copy()
    complete = np.isfinite(counts) & np.isfinite(means) & np.isfinite(stds)
    for dataset in set(datasets[complete]):
        members = complete & (datasets == dataset)
        mean, std = pooled_moments(counts[members], means[members], stds[members])
        inverse = 1 / std if std > 0 else 0.0
        gain[members] = stds[members] * inverse
        shift[members] = (means[members] - mean) * inverse
    return DatasetScaling(gain, shift)


def normalise_windows(
    windows: NDArray[np.float32],
    normalise: Normalisation,
    scaling: DatasetScaling,
    slots: NDArray[np.int64],
) -> None:
    """Normalise stored ``windows`` (n, 1000) in place."""
    if normalise == "dataset":
        windows *= scaling.gain[slots, None]
        windows += scaling.shift[slots, None]
    elif normalise == "window":
        standardise(windows)


def standardise(windows: NDArray[np.float32]) -> None:
    """Give each window zero mean and unit standard deviation; constant ones become zeros."""
    windows -= windows.mean(axis=1, keepdims=True)
    std = windows.std(axis=1, keepdims=True)
    constant = std[:, 0] == 0
    std[constant] = 1
    windows /= std


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


def raise_open_file_limit() -> int:
    """Raise this process's soft limit of open files as far as a reader of windows can use it.

    Every mapped window file keeps one file open. `WindowStore` works within any limit and maps
    files again when it must. A program that reads windows of thousands of recordings at random,
    such as a training, calls this first. Children started later inherit the limit.

    Returns
    -------
    The soft limit after the call.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(_MOST_MAPS + _MOST_RESERVED, _as_number(hard))
    for limit in (wanted, _MACOS_OPEN_MAX):
        if limit <= _as_number(soft):
            break
        with contextlib.suppress(ValueError, OSError):  # the hard limit is not always granted
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            break
    return open_file_limit()


def open_file_limit() -> int:
    """Return this process's soft limit of open files."""
    return _as_number(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _as_number(limit: int) -> int:
    # RLIM_INFINITY is -1 on Linux.
    return _MOST_MAPS + _MOST_RESERVED if limit == resource.RLIM_INFINITY else limit


class MapCache:
    """Mapped signal blocks by key; beyond ``cap`` the least recently used ones are closed.

    A block stays valid after it has left the cache. Threads may share a cache and a process may
    fork at any time: each step is one operation of a plain dict, which is whole before another
    thread can run, so no child can inherit a closed lock. (An `OrderedDict` is not: it closes a
    map that is replaced in the middle of its own work, which lets other threads in, and its
    two parts then disagree for good.) A pickled cache starts empty.

    Parameters
    ----------
    max_maps
        Files mapped at a time; default: as many as the limit of open files allows.
    """

    def __init__(self, max_maps: int | None = None) -> None:
        self._max_maps = max_maps
        self._blocks: dict[int, NDArray[np.void]] = {}  # the least recently used first
        _CACHES.add(self)

    @property
    def cap(self) -> int:
        """Files that may be mapped at a time, by the limit that the process has now."""
        if self._max_maps is not None:
            return max(1, self._max_maps)
        limit = open_file_limit()
        return max(1, min(limit - min(_MOST_RESERVED, limit // 2), _MOST_MAPS))

    def __len__(self) -> int:
        return len(self._blocks)

    def __reduce__(self) -> tuple[type[MapCache], tuple[int | None]]:
        return MapCache, (self._max_maps,)

    def get(self, key: int) -> NDArray[np.void] | None:
        """Return the block of ``key`` if it is mapped."""
        block = self._blocks.pop(key, None)
        if block is not None:
            self._blocks[key] = block
        return block

    def put(self, key: int, block: NDArray[np.void]) -> None:
        """Keep ``block``, and drop the least recently used ones beyond the cap."""
        self._blocks[key] = block
        self.shrink(self.cap)

    def shrink(self, n: int) -> None:
        """Drop the least recently used blocks until at most ``n`` are left."""
        # Counted first: each thread drops its share, and none can go on for ever.
        for _ in range(len(self._blocks) - n):
            with contextlib.suppress(StopIteration, RuntimeError):  # another thread was faster
                self._blocks.pop(next(iter(self._blocks)), None)


def map_windows(
    path: Path, *, size: int, offset: int, n_windows: int, sha256: str | None = None
) -> NDArray[np.void]:
    """Return the windows of a file as (n_windows,) opaque items of 2000 bytes.

    The file is compared with ``sha256`` the first time that this process maps it: nothing else
    notices a changed bit. That takes 3 ms for a night.

    If the process can open or map no more, half of what all caches hold is closed first:
    several stores and other files share the limit.

    Raises
    ------
    storage.windows.WindowFileError
        If the file is missing, is not ``size`` bytes long or was changed.
    """
    try:
        return _map(path, size, offset, n_windows, sha256)
    except OSError as error:
        if error.errno not in _NO_MORE_MAPS:
            raise
    for cache in list(_CACHES):
        cache.shrink(len(cache) // 2)
    return _map(path, size, offset, n_windows, sha256)


def _map(
    path: Path, size: int, offset: int, n_windows: int, sha256: str | None
) -> NDArray[np.void]:
    try:
        with path.open("rb") as stream:
            stat = os.fstat(stream.fileno())
            actual = stat.st_size
            if actual != size:
                message = f"window file {path} has {actual} bytes, not {size}; run deaps doctor"
                raise WindowFileError(message)
            view = mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise WindowFileError(f"window file {path} is missing; run deaps doctor") from None
    _verify(path, view, (str(path), stat.st_ino, stat.st_mtime_ns), sha256)
    return np.frombuffer(view, WINDOW, count=n_windows, offset=offset)


def _verify(path: Path, view: mmap.mmap, key: tuple[str, int, int], sha256: str | None) -> None:
    if sha256 is None or key in _VERIFIED:
        return
    if hashlib.sha256(view).hexdigest() != sha256:
        raise WindowFileError(
            f"window file {path} was changed: its SHA-256 differs; run deaps doctor --verify, "
            "which says what to do"
        )
    _VERIFIED.add(key)


def widen(half: NDArray[np.float16], out: NDArray[np.float32]) -> None:
    """Write the float16 values of ``half`` to ``out`` of the same shape, exactly.

    numpy converts one value at a time in software (2 ns each). Here the 15 bits of exponent
    and mantissa are moved to their float32 places, and a multiplication corrects the bias of
    the exponent, also for subnormal numbers. This is wrong for infinities and NaN, so numpy
    converts blocks that have any. (If a process flushes subnormal numbers to zero, values
    below 6.1e-5 become zero.)
    """
    if _has_nonfinite(half):
        np.copyto(out, half)
        return
    bits = out.view(np.int32)
    np.copyto(bits, half.view(np.int16))
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _SIGN_AND_VALUE, out=bits)
    np.multiply(out, _BIAS, out=out)


def _has_nonfinite(half: NDArray[np.float16]) -> bool:
    if not half.size:
        return False
    return bool(half.view(np.int16).max() >= 0x7C00 or half.view(np.uint16).max() >= 0xFC00)
