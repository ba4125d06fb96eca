"""Labelled windows from the index, as examples."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from deaps.data_part import DataPart, require_parts
from deaps.probing.examples import Examples, Windows
from storage.errors import DeapsError


class NotRunError(DeapsError):
    """A benchmark that cannot be run; the message is what the report prints."""


SELECTION = """
    SELECT w.recording_id, w."row", r.dataset || '/' || r.subject AS subject,
           ('0x' || coalesce(r.digest, r.file_sha256)[:16])::UBIGINT AS windows_content,
           coalesce(s.content, '') AS content, w.quality::VARCHAR AS quality,
           CASE WHEN coalesce(w.rhythm_share, 1) = 1 THEN w.rhythm::VARCHAR END AS rhythm,
           r.sex, r.label, r.split,
           CASE WHEN w.stage_share = 1 THEN w.stage::VARCHAR END AS stage,
           w.obstructive_apnea_s + w.central_apnea_s + w.mixed_apnea_s + w.hypopnea_s
               AS breathing_event_s
    FROM passed_windows w
    JOIN recordings r USING (recording_id)
    LEFT JOIN (
        SELECT recording_id, string_agg(sha256, ' ' ORDER BY path) AS content
        FROM sources WHERE role = 'signal' GROUP BY recording_id
    ) s USING (recording_id)
    WHERE r.status = 'ok' AND r.dataset = $dataset AND ($part IS NULL OR r.split = $part)
"""
"""Windows that pass the gate, with what is known of them. A rhythm, and a stage, counts where it
covers the whole window."""

Columns = dict[str, NDArray[Any]]


def select_windows(
    index: duckdb.DuckDBPyConnection, source: str, condition: str = "true", **values: object
) -> Columns:
    """Return the windows that fulfil a condition in SQL, by recording and row.

    ``source`` is a data set, or a part of it such as ``cpsc2021:set-II``.

    Raises
    ------
    NotRunError
        If the data set is not in the index.
    NoSuchPartError
        If it is, but without that part.
    """
    wanted = DataPart.parse(source)
    _require_windows(index, wanted)
    sql = f'SELECT * FROM ({SELECTION}) WHERE {condition} ORDER BY recording_id, "row"'
    values |= {"dataset": wanted.dataset, "part": wanted.part}
    columns = index.execute(sql, values).fetchnumpy()
    return {name: np.ma.filled(column, None) for name, column in columns.items()}


def _require_windows(index: duckdb.DuckDBPyConnection, wanted: DataPart) -> None:
    """Refuse a data set without windows in the index, and a part that it does not have."""
    sql = "SELECT count(*) FROM recordings WHERE dataset = $dataset AND n_windows > 0"
    row = index.execute(sql, {"dataset": wanted.dataset}).fetchone()
    if row is None or row[0] == 0:
        raise NotRunError(f"no windows of data set {wanted.dataset} in the index")
    require_parts(index, [str(wanted)], setting="benchmarks")


def draw_windows(columns: Columns, each: int, seed: int) -> Columns:
    """Return at most ``each`` windows of every subject, in their order."""
    rng = np.random.Generator(np.random.Philox(key=[seed, 1]))
    order = rng.permutation(len(columns["row"]))
    by_subject = order[np.argsort(columns["subject"][order].astype(str), kind="stable")]
    names = columns["subject"][by_subject].astype(str)
    first = np.concatenate([[True], names[1:] != names[:-1]]) if len(names) else np.zeros(0, bool)
    starts = np.maximum.accumulate(np.where(first, np.arange(len(names)), 0))
    kept = np.sort(by_subject[np.arange(len(names)) - starts < each])
    return {name: column[kept] for name, column in columns.items()}


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
    return Windows(
        columns["recording_id"].astype(np.int32),
        columns["row"].astype(np.int32),
        columns["windows_content"].astype(np.uint64),
    )


def joined(first: Examples, second: Examples) -> Examples:
    """Return the examples of both, the first's before the second's."""
    return Examples(
        np.concatenate([first.labels, second.labels]),
        np.concatenate([first.subjects, second.subjects]),
        np.concatenate([first.contents, second.contents]),
        np.concatenate([first.sides, second.sides]),
        Windows.joined([first.windows, second.windows]),
        np.concatenate([first.owner, second.owner + len(first)]),
    )
