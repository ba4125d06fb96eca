"""Where an evaluation lies, and whether it is there: named by all that it depends on."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path

from deaps.benchmarks.interface import OTHER_BENCHMARKS
from deaps.evaluation.document import (
    EVALUATION_NAME,
    Evaluation,
    Provenance,
    Score,
    TrainedRun,
    write_evaluation,
)
from deaps.models.encoder_file import SHIPPED, WEIGHTS_NAME
from flows.config import Settings
from storage.files import REPORTS_FOLDER, RESULTS_NAME, digest_of, file_sha256
from storage.index.build import write_results

_VERSION = 3
"""Raised when the same runs would give another evaluation."""

_ID_LENGTH = 12


def evaluation_id(settings: Settings, snapshot: str, runs: Mapping[str, str]) -> str:
    """Return the name of an evaluation: a digest of the content of all that it depends on.

    Parameters
    ----------
    snapshot
        Digest of recordings and cohort tables.
    runs
        Digest of the encoders of each run, by the run's name.
    """
    sections = settings.model_dump(
        mode="json",
        include={
            "store": {"normalise"},
            "encoder": True,
            "experiment": True,
            "benchmarks": True,
            "training": {"seed"},
            "sampling": {"datasets"},
        },
    )
    split = settings.benchmarks.sleep_split
    sections["benchmarks"]["sleep_split"] = _content(split)
    others = {name: _source_digest(each) for name, each in sorted(OTHER_BENCHMARKS.all().items())}
    shipped = file_sha256(SHIPPED / WEIGHTS_NAME) if settings.experiment.shipped else None
    parts = (_VERSION, snapshot, dict(runs), sections, others, shipped)
    return digest_of(*parts)[:_ID_LENGTH]


def _content(path: Path | None) -> str | None:
    """Return the digest of a file that a setting names; reading it says what is wrong with it."""
    return file_sha256(path) if path is not None and path.is_file() else None


def _source_digest(benchmark: object) -> str:
    """Return the digest of the file in which another package's benchmark is written."""
    try:
        return file_sha256(inspect.getfile(type(benchmark)))
    except (OSError, TypeError):  # written at a prompt
        return ""


def evaluation_folder(store: Path, name: str) -> Path:
    """Return the folder of an evaluation."""
    return store / REPORTS_FOLDER / name


def is_complete(folder: Path) -> bool:
    """Return whether an evaluation is complete: its table is written last."""
    return (folder / RESULTS_NAME).is_file() and (folder / EVALUATION_NAME).is_file()


def keep_evaluation(evaluation: Evaluation, folder: Path) -> None:
    """Write the document, then the table that the index collects."""
    folder.mkdir(parents=True, exist_ok=True)
    write_evaluation(evaluation, folder)
    write_results(folder / RESULTS_NAME, result_rows(evaluation))


def result_rows(evaluation: Evaluation) -> list[dict[str, object]]:
    """Return the figures as rows of the index's table ``results``.

    A figure that is a mean over seeds has no run; a row for each seed follows it.
    """
    runs = {r.name: r.runs for r in evaluation.representations}
    rows: list[dict[str, object]] = []
    origin = _origin(evaluation.provenance) | {"synthetic": bool(evaluation.synthetic)}
    for benchmark in evaluation.benchmarks:
        if benchmark.not_run is not None:
            rows.append({"benchmark": benchmark.name, "note": f"not run: {benchmark.not_run}"})
        for outcome in benchmark.outcomes:
            name = outcome.representation
            keys: dict[str, object] = {"method": name, "benchmark": benchmark.name}
            for score in outcome.scores:
                rows += [keys | origin | row for row in _score_rows(score, runs[name])]
    return rows


def _origin(made: Provenance) -> dict[str, object]:
    """Return what every figure of a report comes from."""
    names = {"settings_digest", "code", "sources", "sources_sha256"}
    return {"snapshot": made.snapshot_id} | made.model_dump(include=names)


def _score_rows(score: Score, runs: Sequence[TrainedRun]) -> list[dict[str, object]]:
    figures = score.model_dump(include={"metric", "value", "low", "high", "n"})
    figures["note"] = _note(score.deviation)
    if len(runs) == 1:
        return [figures | _run_keys(runs[0])]
    by_run: list[dict[str, object]] = [
        {"metric": score.metric, "value": value, "n": score.n} | _run_keys(run)
        for run, value in zip(runs, score.by_seed, strict=False)
    ]
    return [figures, *by_run]


def _run_keys(run: TrainedRun) -> dict[str, object]:
    return {"run": run.name, "seed": run.seed, "encoder_sha256": run.encoder_sha256}


def _note(deviation: float | None) -> str | None:
    return None if deviation is None else f"deviation over folds {deviation:.4f}"
