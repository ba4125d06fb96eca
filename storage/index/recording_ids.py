"""Numbers of recordings, the same in every snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from storage.index.duplicates import natural_order
from storage.schema import RecordingRow

FIRST_ID = 1

RecordingKey = tuple[str, str]
"""Data set and name: what a recording is known by."""


def assign_ids(
    rows: Iterable[RecordingRow], known: Mapping[RecordingKey, int], next_id: int
) -> tuple[dict[RecordingKey, int], int]:
    """Return the id of each recording, and the next one that is free.

    Recordings in ``known`` keep their ids; new ones get ids from ``next_id`` on, in natural
    order, so an id that was ever given is not given again.
    """
    ids: dict[RecordingKey, int] = {}
    for row in sorted(rows, key=natural_order):
        key = (row.dataset, row.name)
        if key in ids:
            raise ValueError(f"recording {row.dataset}/{row.name} was given twice")
        if key in known:
            ids[key] = known[key]
        else:
            ids[key] = next_id
            next_id += 1
    return ids, next_id
