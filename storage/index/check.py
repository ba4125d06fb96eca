"""Checks before a new index is published."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from storage.errors import DeapsError
from storage.schema import RecordingRow, Status

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_WRONG_COUNTS = """
WITH counted AS (
    SELECT recording_id, sum(n_windows) AS n, min(first_row) AS first, max(last_row) AS last
    FROM window_counts GROUP BY recording_id
)
SELECT coalesce(dataset || '/' || name, 'recording ' || c.recording_id), coalesce(n, 0),
       CASE WHEN status = 'ok' THEN n_windows ELSE 0 END AS expected
FROM recordings r FULL JOIN counted c USING (recording_id)
WHERE coalesce(n, 0) <> coalesce(expected, 0)
   OR (n > 0 AND (first <> 0 OR last <> n - 1))
ORDER BY 1 LIMIT 5
"""
_LOST_SCORINGS = """
SELECT dataset || '/' || name FROM recordings
WHERE scoring_digest IS NOT NULL
  AND recording_id NOT IN (SELECT recording_id FROM stages UNION SELECT recording_id FROM events)
ORDER BY 1 LIMIT 5
"""
_WRONG_SOURCES = "SELECT count(*) FROM sources ANTI JOIN recordings USING (recording_id)"


class PublicationError(DeapsError):
    """The index could not be published; the published one stays as it was."""


def check_rows(root: Path, rows: Sequence[RecordingRow]) -> None:
    """Raise PublicationError unless the file of each row exists with the size in the row."""
    for row in rows:
        if row.status is not Status.OK or (row.path is None and row.n_windows == 0):
            continue
        size = _size(f"{root}/{row.path}") if row.path else None
        if size is None or size != row.bytes or not row.signal_offset:
            message = (
                f"{row.dataset}/{row.name}: window file {row.path} has {size} bytes, "
                f"expected {row.bytes}; run deaps doctor, then deaps preprocess"
            )
            raise PublicationError(message)


def check_index(connection: DuckDBPyConnection) -> None:
    """Raise PublicationError unless windows and recordings of a filled index agree.

    Raises
    ------
    ValueError
        If a source belongs to no recording, which only a fault of this program can cause.
    """
    wrong = connection.execute(_WRONG_COUNTS).fetchall()
    if wrong:
        listed = "; ".join(f"{name} has {n} windows, expected {m}" for name, n, m in wrong)
        raise PublicationError(
            f"windows and recordings disagree: {listed}; run deaps doctor, then deaps preprocess"
        )
    lost = [name for (name,) in connection.execute(_LOST_SCORINGS).fetchall()]
    if lost:
        raise PublicationError(
            f"stages and events of {', '.join(lost)} are neither new nor in the published index; "
            "run deaps preprocess --verify, which reads them again"
        )
    (orphans,) = connection.execute(_WRONG_SOURCES).fetchall()[0]
    if orphans:
        raise ValueError(f"{orphans} rows of sources belong to no recording")


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a Path for each file takes four times as long
    except FileNotFoundError:
        return None
