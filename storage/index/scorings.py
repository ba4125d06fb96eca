"""Stages and events of recordings: the tables of both, and what they give to each window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from storage.schema import (
    BREATHING_EVENTS,
    COUNTED_EVENTS,
    EVENT_COLUMNS,
    WINDOW_S,
    EventKind,
    OldStage,
    Scoring,
    Stage,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_STAGES, _OLD_STAGES = [str(stage) for stage in Stage], [str(stage) for stage in OldStage]
_N3 = list(Stage).index(Stage.N3)
_S3, _S4 = (list(OldStage).index(stage) for stage in (OldStage.S3, OldStage.S4))
_OLD_OF = np.array(
    [_OLD_STAGES.index({"N1": "S1", "N2": "S2", "N3": "S3"}.get(name, name)) for name in _STAGES],
    np.int8,
)
"""Older stage of each stage; S3 or S4 is decided apart."""
DESATURATION_WITHIN_S, AROUSAL_WITHIN_S = 30.0, 5.0
"""A desaturation or arousal is linked to a breathing event if it begins between the event's start
and this long after its end."""
_SAME_SCORING = """
SELECT recording_id FROM recordings new JOIN previous.recordings old USING (recording_id)
WHERE new.scoring_digest = old.scoring_digest
"""
_COPY = "INSERT INTO {table} BY NAME FROM previous.{table} SEMI JOIN ({same}) USING (recording_id)"
_STAGE_SPANS = """
SELECT recording_id, start_s, duration_s, enum_code(stage) AS stage,
       coalesce(enum_code(old_stage)::TINYINT, -1) AS old_stage
FROM stages WHERE recording_id BETWEEN $first AND $last ORDER BY recording_id, start_s
"""
_EVENT_SPANS = """
SELECT recording_id, start_s, duration_s, list_position($kinds, kind) - 1 AS kind
FROM events WHERE recording_id BETWEEN $first AND $last AND list_contains($kinds, kind)
ORDER BY recording_id, start_s
"""


def insert_scorings(
    connection: DuckDBPyConnection, scorings: Mapping[int, Scoring], *, with_previous: bool
) -> None:
    """Fill the tables ``stages`` and ``events`` from new scorings and from the previous index."""
    for table in ("stages", "events"):
        connection.execute(f"DELETE FROM {table}")
        if with_previous:
            connection.execute(_COPY.format(table=table, same=_SAME_SCORING))
    copied = _copied_ids(connection) if with_previous else set()
    new = {number: scoring for number, scoring in scorings.items() if number not in copied}
    for table, rows in (("stages", _stage_table(new)), ("events", _event_table(new))):
        connection.register("incoming_scoring", rows)
        connection.execute(f"INSERT INTO {table} BY NAME FROM incoming_scoring")
        connection.unregister("incoming_scoring")


def _copied_ids(connection: DuckDBPyConnection) -> set[int]:
    return {number for (number,) in connection.execute(_SAME_SCORING).fetchall()}


def _stage_table(scorings: Mapping[int, Scoring]) -> pa.Table:
    import pyarrow as pa

    scored = list(scorings.values())
    old = _joined([scoring.old_stage for scoring in scored], np.int8)
    return pa.table(
        {
            "recording_id": _owner_ids(scorings, [len(s.stage) for s in scored]),
            "start_s": _joined([s.stage_start_s for s in scored], np.float64),
            "duration_s": _joined([s.stage_duration_s for s in scored], np.float64),
            "stage": _names(_joined([s.stage for s in scored], np.int8), _STAGES),
            "old_stage": _names(old, _OLD_STAGES),
        }
    )


def _event_table(scorings: Mapping[int, Scoring]) -> pa.Table:
    import pyarrow as pa

    scored = list(scorings.values())
    names = sorted({name for scoring in scored for name in scoring.kinds})
    places = [np.array([names.index(name) for name in s.kinds], np.int16) for s in scored]
    codes = [place[s.kind] for place, s in zip(places, scored, strict=True) if len(s.kind)]
    start = _joined([s.event_start_s for s in scored], np.float64)
    duration = _joined([s.event_duration_s for s in scored], np.float64)
    first = (start // WINDOW_S).astype(np.int32)
    last = np.maximum(np.ceil((start + duration) / WINDOW_S).astype(np.int32) - 1, first)
    return pa.table(
        {
            "recording_id": _owner_ids(scorings, [len(s.kind) for s in scored]),
            "kind": _names(_joined(codes, np.int16), names),
            "start_s": start,
            "duration_s": duration,
            "first_row": first,
            "last_row": last,
            "stage": _names(_joined([stage_at_start(s) for s in scored], np.int8), _STAGES),
            "spo2_drop": pa.array(
                _joined([s.event_drop for s in scored], np.float32), from_pandas=True
            ),
            "linked_drop": pa.array(
                _joined([linked_drop(s) for s in scored], np.float32), from_pandas=True
            ),
            "linked_arousal": _flags(_joined([linked_arousal(s) for s in scored], np.int8)),
        }
    )


def stage_at_start(scoring: Scoring) -> NDArray[np.int8]:
    """Return the stage in which each event starts, -1 where none is scored."""
    if not len(scoring.stage):
        return np.full(len(scoring.kind), -1, np.int8)
    span = np.searchsorted(scoring.stage_start_s, scoring.event_start_s, side="right") - 1
    ends = scoring.stage_start_s + scoring.stage_duration_s
    inside = (span >= 0) & (scoring.event_start_s < ends[span])
    return np.where(inside, scoring.stage[span], np.int8(-1))


def linked_drop(scoring: Scoring) -> NDArray[np.float32]:
    """Return the greatest fall of SpO2 linked to each breathing event, NaN where there is none."""
    depth = scoring.event_drop[_is_of(scoring, EventKind.DESATURATION)]
    result = np.full(len(scoring.kind), np.nan, np.float32)
    for event, first, stop in _linked(scoring, EventKind.DESATURATION, DESATURATION_WITHIN_S):
        if stop > first and np.isfinite(depth[first:stop]).all():
            result[event] = depth[first:stop].max()
    return result


def linked_arousal(scoring: Scoring) -> NDArray[np.int8]:
    """Return whether an arousal is linked to each breathing event, -1 for other events."""
    result = np.full(len(scoring.kind), -1, np.int8)
    for event, first, stop in _linked(scoring, EventKind.AROUSAL, AROUSAL_WITHIN_S):
        result[event] = stop > first
    return result


def _linked(scoring: Scoring, kind: EventKind, within_s: float) -> Iterator[tuple[int, int, int]]:
    """Yield each breathing event, and the range of events of ``kind`` that are linked to it."""
    starts = scoring.event_start_s[_is_of(scoring, kind)]
    (events,) = np.nonzero(_is_of(scoring, *BREATHING_EVENTS))
    begins = scoring.event_start_s[events]
    ends = begins + scoring.event_duration_s[events] + within_s
    first = np.searchsorted(starts, begins, side="left")
    stop = np.searchsorted(starts, ends, side="right")
    yield from zip(events.tolist(), first.tolist(), stop.tolist(), strict=True)


def _is_of(scoring: Scoring, *kinds: EventKind) -> NDArray[np.bool_]:
    wanted = [place for place, name in enumerate(scoring.kinds) if name in kinds]
    return np.isin(scoring.kind, wanted)


def _flags(codes: NDArray[Any]) -> pa.Array:
    """Return codes 0 and 1 as flags, NULL for -1."""
    import pyarrow as pa

    return pa.array(codes == 1, mask=codes < 0)


def _owner_ids(scorings: Mapping[int, Scoring], counts: Sequence[int]) -> NDArray[np.int32]:
    return np.repeat(np.fromiter(scorings, np.int32, len(scorings)), counts)


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype)


def _names(codes: NDArray[Any], names: Sequence[str]) -> pa.Array:
    """Return names by code as strings, NULL for -1."""
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int16), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(names, pa.string())).cast(pa.string())


@dataclass(frozen=True, slots=True)
class WindowGrid:
    """Windows of several recordings in one row: those of the first, of the second, and so on."""

    recording_ids: NDArray[np.int32]
    n_windows: Integers

    @property
    def size(self) -> int:
        """Number of windows of all recordings."""
        return int(self.n_windows.sum())

    def starts(self) -> Integers:
        """Return the place of each recording's first window."""
        return np.cumsum(self.n_windows) - self.n_windows


@dataclass(frozen=True, slots=True)
class _Spans:
    """Spans of some recordings: ``owner`` is a position in a grid's recordings."""

    owner: Integers
    start_s: Floats
    end_s: Floats
    codes: tuple[NDArray[np.int64], ...]

    def pieces(self, grid: WindowGrid) -> tuple[Integers, Integers, Floats]:
        """Return for each piece of a span in a window: the span, the window, the seconds."""
        first = np.floor(self.start_s / WINDOW_S).astype(np.int64).clip(0)
        stop = np.ceil(self.end_s / WINDOW_S).astype(np.int64)
        stop = np.minimum(stop, grid.n_windows[self.owner])
        counts = (stop - first).clip(0)
        span = np.repeat(np.arange(len(counts)), counts)
        row = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + first[span]
        begins = np.maximum(self.start_s[span], row * WINDOW_S)
        ends = np.minimum(self.end_s[span], (row + 1) * WINDOW_S)
        return span, grid.starts()[self.owner[span]] + row, (ends - begins).clip(0)

    def whole(self, grid: WindowGrid) -> tuple[Integers, Integers]:
        """Return for each span its first window that lies whole in it, and the one after."""
        rows = grid.n_windows[self.owner]
        first = np.ceil(self.start_s / WINDOW_S).astype(np.int64).clip(0)
        stop = np.minimum(np.floor(self.end_s / WINDOW_S).astype(np.int64), rows)
        offset = grid.starts()[self.owner]
        return offset + np.minimum(first, rows), offset + np.maximum(stop, np.minimum(first, rows))

    def edges(self) -> _Spans:
        """Return what is left of spans that start or end within a window: at most two of each."""
        first, last = np.ceil(self.start_s / WINDOW_S), np.floor(self.end_s / WINDOW_S)
        head = np.flatnonzero((first * WINDOW_S != self.start_s) | (first > last))
        tail = np.flatnonzero((last * WINDOW_S != self.end_s) & (first <= last))
        both = np.concatenate([head, tail])
        starts = np.concatenate([self.start_s[head], WINDOW_S * last[tail]])
        ends = np.minimum(WINDOW_S * first[head], self.end_s[head])
        ends = np.where(first[head] > last[head], self.end_s[head], ends)
        return _Spans(
            self.owner[both],
            starts,
            np.concatenate([ends, self.end_s[tail]]),
            tuple(code[both] for code in self.codes),
        )


def score_windows(connection: DuckDBPyConnection, grid: WindowGrid) -> pa.Table:
    """Return stage and seconds of events of each window of a grid, by recording and row.

    The rows come from the tables ``stages`` and ``events``. A window that no scored span touches
    has no stage; the seconds of events are 0 in a recording that has any scoring.
    """
    import pyarrow as pa

    stage, old_stage, share = _stages(_load(connection, grid, _STAGE_SPANS), grid)
    seconds = _event_seconds(_load(connection, grid, _EVENT_SPANS), grid)
    row = np.arange(grid.size) - np.repeat(grid.starts(), grid.n_windows)
    columns: dict[str, Any] = {
        "recording_id": np.repeat(grid.recording_ids, grid.n_windows),
        "row": row.astype(np.int32),
        "stage": pa.array(stage, mask=stage < 0),
        "old_stage": pa.array(old_stage, mask=old_stage < 0),
        "stage_share": pa.array(share, from_pandas=True),
    }
    columns |= dict(zip(EVENT_COLUMNS, seconds, strict=True))
    return pa.table(columns)


def _load(connection: DuckDBPyConnection, grid: WindowGrid, sql: str) -> _Spans:
    """Return the spans of a grid's recordings, whose ids ascend."""
    values: dict[str, Any] = {
        "first": int(grid.recording_ids[0]),
        "last": int(grid.recording_ids[-1]),
    }
    if "$kinds" in sql:
        values["kinds"] = [str(kind) for kind in COUNTED_EVENTS]
    columns: dict[str, Any] = connection.execute(sql, values).fetchnumpy()
    ids = np.asarray(columns.pop("recording_id"), np.int32)
    wanted = np.isin(ids, grid.recording_ids)
    start_s, duration_s, *codes = (np.asarray(column)[wanted] for column in columns.values())
    return _Spans(
        owner=np.searchsorted(grid.recording_ids, ids[wanted]),
        start_s=start_s,
        end_s=start_s + duration_s,
        codes=tuple(code.astype(np.int64) for code in codes),
    )


def _stages(
    spans: _Spans, grid: WindowGrid
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.float32]]:
    """Return stage, older stage (-1: none) and covered share (NaN: none) of each window."""
    stage, old = (_fill(*spans.whole(grid), code, grid.size) for code in spans.codes)
    share = np.where(stage >= 0, np.float32(1), np.float32(np.nan))
    edges = spans.edges()  # few: epochs start on the grid of windows
    if len(edges.owner):
        span, window, seconds = edges.pieces(grid)
        stage_of, old_of = edges.codes
        shared, places = np.unique(window, return_inverse=True)
        chosen = _most_covered(places, stage_of[span], old_of[span], seconds, len(shared))
        stage[shared], old[shared], share[shared] = chosen
    return stage, old, share


def _fill(first: Integers, stop: Integers, codes: Integers, n: int) -> NDArray[np.int8]:
    """Return the code of the span that holds each window whole, -1 where none does.

    A running sum of steps up and down: spans do not overlap.
    """
    steps = np.zeros(n + 1, np.int8)
    filled = stop > first
    np.add.at(steps, first[filled], (codes[filled] + 1).astype(np.int8))
    np.subtract.at(steps, stop[filled], (codes[filled] + 1).astype(np.int8))
    return np.cumsum(steps[:n], dtype=np.int8) - np.int8(1)


def _most_covered(
    place: Integers, stage: Integers, old: Integers, seconds: Floats, n: int
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.float32]]:
    """Return the stage that covers most of each window; none where most of it is not scored."""
    k = len(_STAGES)
    cover = np.bincount(place * k + stage, seconds, n * k).reshape(n, k)
    best = cover.argmax(axis=1)
    most = cover[np.arange(n), best]
    deep, deepest = (
        np.bincount(place[old == code], seconds[old == code], n) for code in (_S3, _S4)
    )
    named = np.bincount(place[old >= 0], minlength=n) > 0
    old_best = np.where((best == _N3) & (deepest > deep), _S4, _OLD_OF[best])
    unknown = WINDOW_S - cover.sum(axis=1) > most
    chosen = np.where(unknown, -1, best).astype(np.int8)
    chosen_old = np.where(unknown | ~named, -1, old_best).astype(np.int8)
    return chosen, chosen_old, np.where(unknown, np.nan, most / WINDOW_S).astype(np.float32)


def _event_seconds(spans: _Spans, grid: WindowGrid) -> NDArray[np.float32]:
    """Return the seconds of each counted kind in each window, (kinds, windows)."""
    (kind,) = spans.codes
    span, window, seconds = spans.pieces(grid)
    total = np.zeros((len(COUNTED_EVENTS), grid.size), np.float32)
    np.add.at(total.reshape(-1), kind[span] * grid.size + window, seconds.astype(np.float32))
    # Events of one kind may overlap, but a window has no more than its ten seconds.
    return np.minimum(total, np.float32(WINDOW_S), out=total)
