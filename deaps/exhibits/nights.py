"""A night from start to end: stages, events, quality, heart rate and the representation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deaps.evaluation.document import NightEvent, NightPage, NightStage
from storage.errors import DeapsError
from storage.schema import WINDOW_S

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

COMPONENTS = 3

_WINDOWS = """
SELECT quality::VARCHAR AS quality, hr_mean, flat OR clipped OR nonfinite AS rejected
FROM windows WHERE recording_id = $recording_id ORDER BY "row"
"""
_STAGES = """
SELECT start_s, duration_s, stage::VARCHAR FROM stages
WHERE recording_id = $recording_id ORDER BY start_s
"""
_EVENTS = """
SELECT start_s, duration_s, kind FROM events
WHERE recording_id = $recording_id ORDER BY start_s, kind
"""
_TYPICAL = """
SELECT recording_id, ahi FROM events_by_recording JOIN recordings USING (recording_id)
WHERE recordings.dataset = $dataset AND n_windows > 0 AND ahi IS NOT NULL
ORDER BY ahi, recordings.name
"""
_DATASET = """
SELECT dataset FROM stage_by_recording GROUP BY dataset ORDER BY count(*) DESC, dataset LIMIT 1
"""


def night_page(
    index: DuckDBPyConnection,
    recording_id: int,
    *,
    title: str,
    representation: str = "",
    embeddings: NDArray[np.floating] | None = None,
) -> NightPage:
    """Return one night; ``embeddings`` (n, d) are of all its windows, in order.

    The components are those of this night alone, from windows that pass the gate.
    """
    values: dict[str, Any] = {"recording_id": recording_id}
    columns = index.execute(_WINDOWS, values).fetchnumpy()
    if not len(columns["quality"]):
        raise DeapsError(f"recording {recording_id} has no windows; see the recordings table")
    return compose_night(
        title,
        quality=columns["quality"].tolist(),
        heart_rate=np.ma.filled(np.ma.asarray(columns["hr_mean"], np.float64), np.nan),
        rejected=np.asarray(columns["rejected"], bool),
        stages=index.execute(_STAGES, values).fetchall(),
        events=index.execute(_EVENTS, values).fetchall(),
        representation=representation,
        embeddings=embeddings,
    )


def compose_night(
    title: str,
    *,
    quality: Sequence[str],
    heart_rate: NDArray[np.floating],
    rejected: NDArray[np.bool_],
    stages: Iterable[tuple[float, float, str]] = (),
    events: Iterable[tuple[float, float, str]] = (),
    representation: str = "",
    embeddings: NDArray[np.floating] | None = None,
) -> NightPage:
    """Return one night from its windows, with spans of stages and events: start, length, name."""
    components = _components(embeddings, ~rejected) if embeddings is not None else ()
    return NightPage(
        title=title,
        window_s=WINDOW_S,
        quality=tuple(quality),
        heart_rate=_numbers(np.asarray(heart_rate, np.float64)),
        stages=tuple(
            NightStage(start_s=start, duration_s=length, stage=stage)
            for start, length, stage in stages
        ),
        events=tuple(
            NightEvent(start_s=start, duration_s=length, kind=kind)
            for start, length, kind in events
        ),
        representation=representation,
        components=components,
    )


def scored_dataset(index: DuckDBPyConnection) -> str | None:
    """Return the data set with the most scored recordings, None where nothing is scored."""
    row = index.execute(_DATASET).fetchone()
    return str(row[0]) if row else None


def example_nights(index: DuckDBPyConnection, dataset: str) -> list[tuple[int, float]]:
    """Return two scored nights of a data set: of the median and of the highest apnea index."""
    nights = index.execute(_TYPICAL, {"dataset": dataset}).fetchall()
    return list(dict.fromkeys([nights[len(nights) // 2], nights[-1]])) if nights else []


def _components(
    embeddings: NDArray[np.floating], passed: NDArray[np.bool_]
) -> tuple[tuple[float | None, ...], ...]:
    # Imported here: it takes half a second, and a drawing in the terminal has no components.
    from sklearn.decomposition import PCA

    n = min(COMPONENTS, int(passed.sum()) - 1, embeddings.shape[1])
    if n < 1:
        return ()
    fitted = PCA(n, svd_solver="full").fit_transform(embeddings[passed].astype(np.float64))
    scaled = fitted / np.maximum(fitted.std(axis=0), 1e-12)
    whole = np.full((len(embeddings), n), np.nan)
    whole[passed] = scaled
    return tuple(_numbers(column) for column in whole.T)


def _numbers(values: NDArray[np.float64]) -> tuple[float | None, ...]:
    """Return values for JSON, which has no NaN, with as many digits as a drawing shows."""
    return tuple(None if np.isnan(value) else round(float(value), 3) for value in values)
