"""Labelled windows from the index, as examples."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from deaps.probing.examples import Examples, Windows
from storage.errors import DeapsError


class NotRunError(DeapsError):
    """A benchmark that cannot be run; the message is what the report prints."""


SELECTION = """
    SELECT w.recording_id, w."row", r.dataset || '/' || r.subject AS subject,
           coalesce(s.content, '') AS content, w.quality::VARCHAR AS quality,
           CASE WHEN coalesce(w.rhythm_share, 1) = 1 THEN w.rhythm::VARCHAR END AS rhythm,
           r.sex, r.label, r.split
    FROM passed_windows w
    JOIN recordings r USING (recording_id)
    LEFT JOIN (
        SELECT recording_id, string_agg(sha256, ' ' ORDER BY path) AS content
        FROM sources WHERE role = 'signal' GROUP BY recording_id
    ) s USING (recording_id)
    WHERE r.status = 'ok' AND r.dataset = $dataset
"""
"""Windows that pass the gate, with what is known of them. A rhythm counts where it covers the
whole window."""

Columns = dict[str, NDArray[Any]]


def select_windows(
    index: duckdb.DuckDBPyConnection, dataset: str, condition: str = "true", **values: object
) -> Columns:
    """Return the windows of a data set that fulfil a condition in SQL, by recording and row.

    Raises
    ------
    NotRunError
        If the data set is not in the index.
    """
    require(index, dataset)
    sql = f'SELECT * FROM ({SELECTION}) WHERE {condition} ORDER BY recording_id, "row"'  # noqa: S608 - conditions are ours
    columns = index.execute(sql, {"dataset": dataset, **values}).fetchnumpy()
    return {name: np.ma.filled(column, None) for name, column in columns.items()}


def require(index: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Refuse a data set without windows in the index."""
    sql = "SELECT count(*) FROM recordings WHERE dataset = $dataset AND n_windows > 0"
    row = index.execute(sql, {"dataset": dataset}).fetchone()
    if row is None or row[0] == 0:
        raise NotRunError(f"no windows of data set {dataset} in the index")


def window_examples(columns: Columns, labels: NDArray[np.integer], side: str = "") -> Examples:
    """Return one example for each window."""
    n = len(labels)
    return Examples(
        np.asarray(labels, np.int8),
        columns["subject"].astype(str),
        columns["content"].astype(str),
        np.full(n, side),
        _windows(columns),
        np.arange(n),
    )


def recording_examples(
    columns: Columns, labels: NDArray[np.integer], sides: NDArray[np.str_]
) -> Examples:
    """Return one example for each recording; ``labels`` and ``sides`` are its windows'."""
    _, first, owner = np.unique(columns["recording_id"], return_index=True, return_inverse=True)
    return Examples(
        np.asarray(labels, np.int8)[first],
        columns["subject"].astype(str)[first],
        columns["content"].astype(str)[first],
        sides[first],
        _windows(columns),
        owner,
    )


def _windows(columns: Columns) -> Windows:
    return Windows(columns["recording_id"].astype(np.int32), columns["row"].astype(np.int32))


def joined(first: Examples, second: Examples) -> Examples:
    """Return the examples of both, the first's before the second's."""
    return Examples(
        np.concatenate([first.labels, second.labels]),
        np.concatenate([first.subjects, second.subjects]),
        np.concatenate([first.contents, second.contents]),
        np.concatenate([first.sides, second.sides]),
        Windows(
            np.concatenate([first.windows.recording_id, second.windows.recording_id]),
            np.concatenate([first.windows.row, second.windows.row]),
        ),
        np.concatenate([first.owner, second.owner + len(first)]),
    )
