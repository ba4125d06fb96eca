"""Quality of the windows: how many of each class, and what they look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deaps.evaluation.document import DatasetLabels, QualityCount, QualityExample
from deaps.exhibits.strips import strip
from storage.schema import Quality
from storage.window_store import WindowStore

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_COUNTS = """
SELECT r.dataset, r.visit, c.quality::VARCHAR AS quality, sum(c.n_windows)::BIGINT AS n_windows
FROM window_counts c JOIN recordings r USING (recording_id)
WHERE r.status = 'ok'
GROUP BY r.dataset, r.visit, c.quality
ORDER BY r.dataset, r.visit, c.quality
"""

# Windows that the gate rejects have a class because they have no signal, not by their indices.
_RECORDINGS = """
SELECT DISTINCT r.dataset, w.recording_id
FROM passed_windows w JOIN recordings r USING (recording_id)
WHERE w.quality = $quality
ORDER BY ALL
"""

_WINDOWS = """
SELECT "row", psqi, ksqi, bassqi FROM passed_windows
WHERE recording_id = $recording_id AND quality = $quality
ORDER BY "row"
"""


def quality_counts(index: DuckDBPyConnection) -> tuple[QualityCount, ...]:
    """Return the windows of each data set, visit and class that has any."""
    return tuple(
        QualityCount(dataset=dataset, visit=visit, quality=quality, n_windows=n_windows)
        for dataset, visit, quality, n_windows in index.execute(_COUNTS).fetchall()
    )


def quality_examples(
    index: DuckDBPyConnection,
    windows: WindowStore,
    *,
    labels: DatasetLabels,
    seed: int,
    n: int = 3,
) -> tuple[QualityExample, ...]:
    """Return n windows of each class, best class first, fewer where there are not as many.

    They come from the data sets in turn and from different recordings; captions name the data
    set and the indices, never the recording. ``windows`` must read the same snapshot.
    """
    rng = np.random.default_rng(seed)
    examples = []
    for quality in Quality:
        recordings = index.execute(_RECORDINGS, {"quality": str(quality)}).fetchall()
        for dataset, recording_id in _in_turn(recordings, rng)[:n]:
            row, caption = _any_window(index, recording_id, quality, rng)
            (signal,) = windows.read([recording_id], [row])
            shown = strip(f"{labels[dataset]}: {caption}", signal)
            examples.append(QualityExample(quality=str(quality), strip=shown))
    return tuple(examples)


def _in_turn(recordings: list[tuple[str, int]], rng: np.random.Generator) -> list[tuple[str, int]]:
    """Return recordings shuffled, one of each data set before a second of any."""
    shuffled = [recordings[i] for i in rng.permutation(len(recordings)).tolist()]
    seen: dict[str, int] = {}
    turn = []
    for dataset, _ in shuffled:
        turn.append(seen.get(dataset, 0))
        seen[dataset] = turn[-1] + 1
    return [shuffled[i] for i in np.argsort(turn, kind="stable").tolist()]


def _any_window(
    index: DuckDBPyConnection, recording_id: int, quality: Quality, rng: np.random.Generator
) -> tuple[int, str]:
    """Return the row of one window of a recording and class, and its indices in words."""
    asked = {"recording_id": recording_id, "quality": str(quality)}
    rows = index.execute(_WINDOWS, asked).fetchall()
    row, *indices = rows[int(rng.integers(len(rows)))]
    named = zip(("pSQI", "kSQI", "basSQI"), indices, strict=True)
    return row, ", ".join(f"{name} {'unknown' if x is None else f'{x:.2f}'}" for name, x in named)
