"""The picture of a recording that is embedded without a store: from start to end, on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from preprocessing.chain import ProcessedRecording
from preprocessing.datasets import DATASETS
from preprocessing.datasets.folder import own_subject
from preprocessing.recording import FoundRecording, RawRecording
from storage.schema import Quality, Stage

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUALITIES = np.array([str(quality) for quality in Quality])
_STAGES = [str(stage) for stage in Stage]

Spans = list[tuple[float, float, str]]
"""Start, length and name of stages or events."""


def draw_recording(
    processed: ProcessedRecording,
    embeddings: NDArray[np.float32],
    representation: str,
    folder: Path,
    scored: tuple[Path, FoundRecording, RawRecording],
) -> list[Path]:
    """Draw a recording from start to end, as PNG and SVG."""
    from deaps.exhibits.nights import compose_night
    from deaps.report.figures.recordings.night_page import night_page_drawing
    from deaps.report.picture import FORMATS, write_picture
    from storage.files import slug

    recording = scored[1]
    stages, events = _spans(*scored, processed.duration_s)
    page = compose_night(
        recording.name,
        quality=QUALITIES[processed.quality].tolist(),
        heart_rate=processed.scores.hr_mean,
        rejected=processed.gate.rejected,
        stages=stages,
        events=events,
        representation=representation,
        embeddings=embeddings,
    )
    draw, size = night_page_drawing(page)
    name = slug(own_subject(recording.name))
    paths = [folder / f"{name}{ending}" for ending in FORMATS]
    for path in paths:
        write_picture(draw, size, path, title=recording.name)
    return paths


def _spans(
    root: Path, recording: FoundRecording, raw: RawRecording, duration_s: float
) -> tuple[Spans, Spans]:
    """Return stages and events of a recording: start, length and name."""
    scoring = DATASETS["folder"].scoring(
        root, recording, duration_s=duration_s, truncated=raw.truncated
    )
    if scoring is None:
        return [], []
    stages = [_STAGES[code] for code in scoring.stage]
    kinds = [scoring.kinds[code] for code in scoring.kind]
    return (
        list(
            zip(
                scoring.stage_start_s.tolist(),
                scoring.stage_duration_s.tolist(),
                stages,
                strict=True,
            )
        ),
        list(
            zip(
                scoring.event_start_s.tolist(),
                scoring.event_duration_s.tolist(),
                kinds,
                strict=True,
            )
        ),
    )
