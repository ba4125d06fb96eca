"""Subjects with visits made in tests: as a pool of windows, and as a published store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deaps.sampling.window_pool import WindowPool, make_pool
from tests.storage.made_store import make_row, publish_rows, write_recording


@dataclass(frozen=True)
class Visit:
    """One recording: windows at ``places`` (steps of 10 s), of which some are usable."""

    subject: str
    visit: int
    places: tuple[int, ...]
    usable: tuple[bool, ...]
    dataset: str = "ds"


def whole(subject: str, visit: int, n: int, dataset: str = "ds") -> Visit:
    """Return a recording of n windows without gaps, all usable."""
    return Visit(subject, visit, tuple(range(n)), (True,) * n, dataset)


def two_visits(n_subjects: int, n_windows: int = 30) -> list[Visit]:
    """Return two whole recordings of each subject."""
    return [whole(f"s{k:02d}", v, n_windows) for k in range(n_subjects) for v in (1, 2)]


def pool_of(visits: Sequence[Visit]) -> WindowPool:
    """Return the pool of recordings with the ids 1, 2, ..."""
    listed = [
        (k, row, place)
        for k, visit in enumerate(visits, start=1)
        for row, (place, good) in enumerate(zip(visit.places, visit.usable, strict=True))
        if good
    ]
    ids, rows, places = np.array(listed, np.int32).reshape(-1, 3).T
    columns = {
        "recording_id": np.arange(1, len(visits) + 1, dtype=np.int32),
        "dataset": np.array([visit.dataset for visit in visits], object),
        "subject": np.array([visit.subject for visit in visits], object),
        "visit": np.array([visit.visit for visit in visits], np.int32),
    }
    return make_pool(columns, window_recordings=ids, rows=rows, places=places)


def publish_visits(root: Path, visits: Sequence[Visit]) -> None:
    """Publish a store in which recordings have the ids 1, 2, ... and unusable windows exist."""
    rows = [
        write_recording(
            root,
            make_row(f"r{k:04d}", visit.dataset, subject=visit.subject, visit=visit.visit),
            len(visit.places),
            seed=k,
            start_s=np.array(visit.places) * 10.0,
            quality=np.where(visit.usable, k % 2, 2).astype(np.int8),
        )
        for k, visit in enumerate(visits)
    ]
    publish_rows(root, rows)
