"""Where a figure or a window comes from: benchmark, run, encoder, snapshot, sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deaps.evaluation.document import (
    BenchmarkRecord,
    Evaluation,
    Outcome,
    Score,
    TrainedRun,
    read_evaluation,
)
from deaps.training.run_folder import read_end
from flows.experiment.page import find_evaluation
from storage.errors import DeapsError
from storage.files import RUNS_FOLDER
from storage.schema import WINDOW_S
from storage.snapshot import open_index

Lines = list[tuple[str, str]]
"""What, and its value; a name may occur more than once."""

_RECORDING = """
SELECT recording_id, digest, path, n_windows FROM recordings WHERE dataset = ? AND name = ?
"""
_SOURCES = "SELECT role, path, size, sha256 FROM sources WHERE recording_id = ? ORDER BY path"
_WINDOW = "SELECT start_s, quality, rhythm FROM windows WHERE recording_id = ? AND row = ?"


class NoSuchFigureError(DeapsError):
    """A figure or window that is not there; the message lists what is."""


def trace_figure(store: Path, report: str | None, figure: str) -> Lines:
    """Return what a figure comes from; ``figure`` is benchmark/representation[/metric].

    Raises
    ------
    NoSuchFigureError
        If the report has no such figure.
    """
    evaluation = read_evaluation(find_evaluation(store, report))
    benchmark, outcome, score = _find(evaluation, figure)
    made = evaluation.provenance
    return [
        ("report", f"{evaluation.id}, {made.created_at}"),
        ("figure", f"{score.metric} {score.value:.4f} over {score.n:,} examples"),
        ("benchmark", f"{benchmark.name}: {benchmark.title}"),
        ("representation", outcome.representation),
        *_runs(evaluation, outcome.representation, store),
        ("snapshot", made.snapshot_id),
        ("sources", f"{made.sources} files, SHA-256 of their SHA-256s {made.sources_sha256}"),
        ("settings", f"digest {made.settings_digest}; in full in the report"),
        ("evaluated by", f"deaps {made.code}"),
        ("command", made.command),
    ]


def _find(evaluation: Evaluation, figure: str) -> tuple[BenchmarkRecord, Outcome, Score]:
    benchmark_name, _, rest = figure.partition("/")
    name, _, metric = rest.partition("/")
    known = []
    for benchmark in evaluation.benchmarks:
        for outcome in benchmark.outcomes:
            known.append(f"{benchmark.name}/{outcome.representation}")
            score = outcome.score(metric) if metric else next(iter(outcome.scores), None)
            if (benchmark.name, outcome.representation) == (benchmark_name, name) and score:
                return benchmark, outcome, score
    raise NoSuchFigureError(
        f"no figure {figure!r} in report {evaluation.id}; it is benchmark/representation or "
        f"benchmark/representation/metric, such as {', '.join(known)}"
    )


def _runs(evaluation: Evaluation, name: str, store: Path) -> Iterator[tuple[str, str]]:
    runs = evaluation.representation(name).runs
    if not runs:
        yield "run", "none: a floor, which is not trained"
    for run in runs:
        yield "run", f"{run.name}, seed {run.seed}"
        yield "encoder", f"SHA-256 {run.encoder_sha256}"
        yield "trained by", _trained_by(run, store)


def _trained_by(run: TrainedRun, store: Path) -> str:
    try:
        fields = read_end(store / RUNS_FOLDER / run.name)
    except (OSError, ValueError):
        return "its folder is no longer in the store"
    where = f"on {fields.get('device')}, finished {fields.get('finished_at')}"
    return f"deaps {fields.get('code', 'of unknown version')} {where}"


def trace_window(store: Path, window: str) -> Lines:
    """Return the source of a window; ``window`` is dataset/recording/row.

    Raises
    ------
    NoSuchFigureError
        If there is no such window.
    """
    dataset, _, rest = window.partition("/")
    name, _, row = rest.rpartition("/")
    with open_index(store) as index:
        recording = index.execute(_RECORDING, [dataset, name]).fetchone()
        if recording is None or not row.isdecimal() or int(row) >= recording[3]:
            raise NoSuchFigureError(_no_window(window, recording))
        recording_id, digest, path, _ = recording
        sources = index.execute(_SOURCES, [recording_id]).fetchall()
        facts = index.execute(_WINDOW, [recording_id, int(row)]).fetchone()
    return [
        ("window", f"{window}: {_describe(facts)}"),
        ("window file", f"{path}, digest {digest}"),
        *(
            (role, f"{source}, {size:,} bytes, SHA-256 {sha256}")
            for role, source, size, sha256 in sources
        ),
    ]


def _describe(facts: tuple[Any, ...] | None) -> str:
    if facts is None:
        raise ValueError("the index names a window and has no row for it; run deaps doctor")
    start_s, quality, rhythm = facts
    return f"{start_s:g} to {start_s + WINDOW_S:g} s, {quality}, {rhythm or 'no label'}"


def _no_window(window: str, recording: tuple[Any, ...] | None) -> str:
    if recording is None:
        return f"no recording for {window!r}; a window is dataset/recording/row, see deaps query"
    return f"no window {window!r}: the recording has rows 0 to {recording[3] - 1}"
