"""The windows that may be drawn: what the sampler knows of the index, loaded once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deaps.config import condition_of, require_parts
from storage.errors import DeapsError
from storage.schema import WINDOW_S, Quality, Status
from storage.snapshot import open_index, read_chain, sql_literal

if TYPE_CHECKING:
    from deaps.config import SamplingSettings


_RECORDINGS = """
SELECT recording_id, dataset, subject, visit
FROM recordings WHERE {chosen}
ORDER BY recording_id
"""

# place is -1 off the grid: a check that costs no second look at the table.
_WINDOWS = """
SELECT recording_id, "row",
       CASE WHEN start_s % {step} = 0 THEN (start_s / {step})::INTEGER ELSE -1 END AS place
FROM windows
WHERE quality IN ({qualities})
  AND recording_id IN (SELECT recording_id FROM recordings WHERE {chosen})
"""


class NotEnoughDataError(DeapsError):
    """The index cannot give what the sampling settings ask of it."""


@dataclass(frozen=True, slots=True)
class WindowPool:
    """Usable windows by recording, and recordings by subject.

    Windows lie by recording, then by time; recordings by their id. The windows of recording r
    are at positions ``offsets[r]`` to ``offsets[r + 1]``.

    Attributes
    ----------
    rows, places
        int32 (windows,): row in the recording's file, and ``start_s`` in steps of 10 s.
    offsets
        int64 (recordings + 1,).
    recording_ids, subjects, visits
        int32, int64, int32 (recordings,): id in the index, subject and visit of each
        recording. Only recordings with usable windows are listed.
    by_subject
        int64 (recordings,): recordings in order of subject, then visit.
    datasets
        Names of the data sets.
    subject_datasets
        int64 (subjects,): position in ``datasets``, also of subjects without usable windows.
    """

    rows: NDArray[np.int32]
    places: NDArray[np.int32]
    offsets: NDArray[np.int64]
    recording_ids: NDArray[np.int32]
    subjects: NDArray[np.int64]
    visits: NDArray[np.int32]
    by_subject: NDArray[np.int64]
    datasets: tuple[str, ...]
    subject_datasets: NDArray[np.int64]

    @property
    def n_windows(self) -> NDArray[np.int64]:
        """Return the number of usable windows of each recording, at least 1."""
        return np.diff(self.offsets)


def load_pool(index: Path | str, settings: SamplingSettings) -> WindowPool:
    """Return the usable windows of an index file, or of the published index of a store.

    Raises
    ------
    NotEnoughDataError
        If a data set or quality class is unknown, or no window is usable.
    """
    _check_qualities(settings.qualities)
    with open_index(index) as connection:
        require_parts(connection, settings.datasets, setting="sampling.datasets")
        chosen = f"status = {sql_literal(Status.OK)}"
        if settings.datasets:
            chosen += f" AND ({condition_of(settings.datasets)})"
        if not settings.mixed_chains:
            read_chain(connection, chosen)
        recordings = connection.execute(_RECORDINGS.format(chosen=chosen)).fetchnumpy()
        # Several threads deliver the table's parts in any order (DuckDB 2.0), and ORDER BY takes
        # twice the memory; one thread keeps the publisher's order, which is the one wanted.
        connection.execute("SET threads = 1")
        windows = connection.execute(
            _WINDOWS.format(step=WINDOW_S, qualities=_literals(settings.qualities), chosen=chosen)
        ).fetchnumpy()
    if not len(windows["row"]):
        raise NotEnoughDataError(_nothing_usable(settings, len(recordings["recording_id"])))
    return make_pool(
        recordings, window_recordings=windows["recording_id"], rows=windows["row"],
        places=windows["place"],
    )  # fmt: skip


def make_pool(
    recordings: dict[str, Any],
    *,
    window_recordings: NDArray[np.int32],
    rows: NDArray[np.int32],
    places: NDArray[np.int32],
) -> WindowPool:
    """Return the pool of columns that the index gave.

    Parameters
    ----------
    recordings
        Columns ``recording_id`` (ascending), ``dataset``, ``subject`` and ``visit``.
    window_recordings, rows, places
        (windows,): recording id, row, and start in steps of 10 s.
    """
    _check_grid(window_recordings, places)
    if not _ascending(window_recordings, places):
        order = np.lexsort((places, window_recordings))
        window_recordings, rows, places = window_recordings[order], rows[order], places[order]
        _check_starts(window_recordings, places)
    starts = np.flatnonzero(np.diff(window_recordings, prepend=np.int32(-1)))
    present = np.searchsorted(recordings["recording_id"], window_recordings[starts])
    subjects, subject_datasets, names = _number_subjects(recordings)
    visits = np.asarray(recordings["visit"], np.int32)[present]
    subjects = subjects[present]
    return WindowPool(
        rows=rows,
        places=places,
        offsets=np.append(starts, len(rows)),
        recording_ids=window_recordings[starts],
        subjects=subjects,
        visits=visits,
        by_subject=np.lexsort((visits, subjects)),
        datasets=names,
        subject_datasets=subject_datasets,
    )


def _number_subjects(
    recordings: dict[str, Any],
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Return each recording's subject, each subject's data set, and the data sets' names.

    A name means a subject only together with the data set: both SHHS and ECG-ID have a 1.
    """
    pairs = list(zip(recordings["dataset"].tolist(), recordings["subject"].tolist(), strict=True))
    distinct = sorted(set(pairs))
    names = sorted({dataset for dataset, _ in distinct})
    number = {pair: k for k, pair in enumerate(distinct)}
    of_recordings = np.array([number[pair] for pair in pairs], np.int64)
    of_subjects = np.array([names.index(dataset) for dataset, _ in distinct], np.int64)
    return of_recordings, of_subjects, tuple(names)


def _ascending(recordings: NDArray[np.int32], places: NDArray[np.int32]) -> bool:
    later = recordings[1:] > recordings[:-1]
    later |= (recordings[1:] == recordings[:-1]) & (places[1:] > places[:-1])
    return bool(later.all())


def _check_grid(recordings: NDArray[np.int32], places: NDArray[np.int32]) -> None:
    if places.min(initial=0) < 0:
        first = recordings[int(np.argmin(places))]
        message = (
            f"start_s of a window of recording {first} is no multiple of {WINDOW_S} s from the "
            "recording's start; run deaps preprocess to write its windows again"
        )
        raise NotEnoughDataError(message)


def _check_starts(recordings: NDArray[np.int32], places: NDArray[np.int32]) -> None:
    again = (recordings[1:] == recordings[:-1]) & (places[1:] == places[:-1])
    if again.any():
        first = recordings[int(np.argmax(again))]
        raise DeapsError(f"two windows of recording {first} start together; run deaps doctor")


def _check_qualities(qualities: Iterable[str]) -> None:
    allowed = list(map(str, Quality))
    unknown = sorted(set(qualities) - set(allowed))
    if unknown:
        message = f"sampling.qualities has {_listed(unknown)}; allowed are {_listed(allowed)}"
        raise NotEnoughDataError(message)


def _nothing_usable(settings: SamplingSettings, n_recordings: int) -> str:
    return (
        f"none of {n_recordings} recordings of {_listed(settings.datasets) or 'all data sets'} has "
        f"a window of quality {_listed(settings.qualities)}; see deaps query "
        '"FROM quality_by_dataset", then widen sampling.qualities or sampling.datasets'
    )


def _literals(names: Iterable[str]) -> str:
    return ", ".join(map(sql_literal, names))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


_CHUNK = 1_000_000
"""Windows looked at together; some 50 MB while it lasts."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """Positions of windows by recording: those of r at ``offsets[r]`` to ``offsets[r + 1]``.

    ``positions`` is int32 (a pool of 2 ** 31 windows would be 680 years long), ``offsets``
    int64 (recordings + 1,).
    """

    positions: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of anchors of each recording."""
        return np.diff(self.offsets)

    def draw(self, rng: np.random.Generator, recordings: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position of one anchor of each recording, all with equal chance."""
        first, end = self.offsets[recordings], self.offsets[recordings + 1]
        return self.positions[rng.integers(first, end)].astype(np.int64)


def find_anchors(
    pool: WindowPool, steps: int, *, between: int = 0, apart: int | None = None
) -> Anchors:
    """Return the windows after which, exactly ``steps`` places on, there is another.

    Parameters
    ----------
    pool
        The usable windows.
    steps
        Time to the other window, in places of 10 s.
    between
        Least number of usable windows strictly between the two.
    apart
        If given, there must be a window of the same recording at least so many places before
        the first of the two, or after the second.
    """
    anchors, counts = [], []
    for first, last in _chunks(pool.offsets):
        good = _is_anchor(pool, first, last, steps, between)
        if apart is not None:
            good &= _has_distant(pool, first, last, steps, apart)
        bounds = pool.offsets[first : last + 1] - pool.offsets[first]
        total = np.append(0, np.cumsum(good))
        counts.append(np.diff(total[bounds]))
        anchors.append((np.flatnonzero(good) + pool.offsets[first]).astype(np.int32))
    return Anchors(np.concatenate(anchors), np.append(0, np.cumsum(np.concatenate(counts))))


def _chunks(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield runs of recordings, first and one past the last, of about `_CHUNK` windows."""
    first, n = 0, len(offsets) - 1
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + _CHUNK, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _is_anchor(
    pool: WindowPool, first: int, last: int, steps: int, between: int
) -> NDArray[np.bool_]:
    windows = slice(pool.offsets[first], pool.offsets[last])
    keys = np.repeat(np.arange(last - first) << 32, pool.n_windows[first:last])
    keys += pool.places[windows]
    other = np.searchsorted(keys, keys + steps)
    inside = np.minimum(other, len(keys) - 1)
    good: NDArray[np.bool_] = keys[inside] == keys + steps
    return good & (other - np.arange(len(keys)) > between)


def _has_distant(
    pool: WindowPool, first: int, last: int, steps: int, apart: int
) -> NDArray[np.bool_]:
    counts = pool.n_windows[first:last]
    places = pool.places[pool.offsets[first] : pool.offsets[last]]
    earliest = np.repeat(pool.places[pool.offsets[first:last]], counts)
    latest = np.repeat(pool.places[pool.offsets[first + 1 : last + 1] - 1], counts)
    good: NDArray[np.bool_] = (places - apart >= earliest) | (places + steps + apart <= latest)
    return good


def first_from(
    pool: WindowPool, recordings: NDArray[np.int64], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return, for each recording, the position of its first window at ``places`` or later.

    That is the end of the recording's windows if there is none. A binary search in all
    recordings at once.
    """
    low, high = pool.offsets[recordings], pool.offsets[recordings + 1]
    while (searching := low < high).any():
        middle = (low + high) // 2
        # Where the search is over, middle may lie one past the last window of the pool.
        earlier = pool.places[np.minimum(middle, len(pool.places) - 1)] < places
        low = np.where(searching & earlier, middle + 1, low)
        high = np.where(searching & ~earlier, middle, high)
    return low
