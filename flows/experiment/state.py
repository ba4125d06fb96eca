"""How far an experiment has come: finished runs, and where its evaluation and page lie."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from deaps.benchmarks.interface import OTHER_BENCHMARKS
from deaps.evaluation.document import (
    EVALUATION_NAME,
    PAGE_NAME,
    Evaluation,
    Provenance,
    Score,
    TrainedRun,
    read_evaluation,
    write_evaluation,
)
from deaps.experiment import Experiment, FinishedRun, RunKey
from deaps.models.encoder_file import SHIPPED, WEIGHTS_NAME
from deaps.report.change import RecordingDigests, describe_change, recording_digests
from deaps.training.run_folder import Run, encoder_digests, open_run, run_path
from flows.config import Settings
from flows.experiment.plan import plan_experiment
from flows.monitoring.event_log import EventLog
from storage.errors import DeapsError
from storage.files import (
    INDEX_NAME,
    REPORTS_FOLDER,
    RESULTS_NAME,
    RUN_NAME,
    RUNS_FOLDER,
    digest_of,
    file_sha256,
)
from storage.index.build import write_results
from storage.snapshot import open_index, read_snapshot

_COHORT = "SELECT s::VARCHAR FROM subjects s ORDER BY ALL"
_LABELS = "SELECT dataset, label_source, synthetic FROM datasets ORDER BY ALL"


@dataclass(frozen=True, slots=True)
class ExperimentState:
    """An experiment on the published snapshot."""

    settings: Settings
    experiment: Experiment
    snapshot_id: str
    runs: dict[RunKey, Run]
    """Finished runs, by what they train and their seed."""
    missing: tuple[str, ...]
    """What is not trained, a sentence each."""
    cohort: str = ""
    """Digest of the cohorts' tables in the index, which are no part of the snapshot's id."""

    @property
    def name(self) -> str:
        """Name of the evaluation of these runs."""
        runs = {
            run.name: digest_of(sorted(encoder_digests(run.folder).items()))
            for run in self.runs.values()
        }
        return evaluation_id(self.settings, digest_of(self.snapshot_id, self.cohort), runs)

    @property
    def finished(self) -> list[FinishedRun]:
        """Trainings that are complete, in the order of the experiment."""
        return [
            FinishedRun(trained, self.runs[trained.key])
            for trained in self.experiment.trained
            if trained.key in self.runs
        ]

    @property
    def first_runs(self) -> dict[str, Run]:
        """The finished run of each representation with the first of its seeds."""
        first: dict[str, Run] = {}
        for finished in self.finished:
            first.setdefault(finished.trained.name, finished.run)
        return first

    def require_runs(self) -> None:
        """Check that there is something to evaluate.

        Raises
        ------
        DeapsError
            If there is not: the report would have baselines alone.
        """
        if not self.runs:
            raise DeapsError(
                f"none of the experiment's {len(self.missing)} runs is finished on the published "
                "snapshot; run deaps train"
            )

    @property
    def folder(self) -> Path:
        """Folder of that evaluation, whether it is there or not."""
        return evaluation_folder(self.settings.store.root, self.name)

    @property
    def evaluated(self) -> bool:
        """Whether that evaluation is there."""
        return is_complete(self.folder)


def load_state(settings: Settings) -> ExperimentState:
    """Return how far the experiment has come on the published snapshot."""
    experiment = plan_experiment(settings)
    store = settings.store.root
    with open_index(store) as index:
        snapshot_id = read_snapshot(index).snapshot_id
        cohort = digest_of(index.execute(_COHORT).fetchall(), index.execute(_LABELS).fetchall())
    runs, missing = {}, []
    for trained in experiment.trained:
        folder = run_path(store, trained.plan, snapshot_id)
        if (folder / RUN_NAME).exists():
            runs[trained.key] = open_run(folder)
        else:
            seed = trained.key.seed
            missing.append(f"{trained.label}, seed {seed}: not trained (run {folder.name})")
    return ExperimentState(settings, experiment, snapshot_id, runs, tuple(missing), cohort)


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


def save_evaluation(evaluation: Evaluation, folder: Path) -> None:
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


def with_change(evaluation: Evaluation, store: Path) -> Evaluation:
    """Return the evaluation with what changed since the one before, if there is one."""
    before = earlier_evaluation(evaluation, store)
    digests = before and snapshot_of(before, store)
    if before is None or not digests:
        return evaluation
    with open_index(store) as index:
        change = describe_change(before, evaluation, digests, recording_digests(index))
    return evaluation.model_copy(update={"change": change})


def earlier_evaluation(evaluation: Evaluation, store: Path) -> Evaluation | None:
    """Return the newest evaluation with the same settings on another snapshot, None without."""
    made = evaluation.provenance
    documents = (store / REPORTS_FOLDER).glob(f"*/{EVALUATION_NAME}")
    for document in sorted(documents, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        earlier = _read(document.parent)
        if earlier is None or earlier.provenance.snapshot_id == made.snapshot_id:
            continue
        if earlier.provenance.settings_digest == made.settings_digest:
            return earlier
    return None


def _read(folder: Path) -> Evaluation | None:
    """Return a complete evaluation; one of another version of the document is none."""
    try:
        return read_evaluation(folder) if is_complete(folder) else None
    except ValueError:
        return None


def snapshot_of(evaluation: Evaluation, store: Path) -> RecordingDigests | None:
    """Return the recordings of an evaluation's snapshot, from the index that its runs keep."""
    for representation in evaluation.representations:
        for run in representation.runs:
            path = store / RUNS_FOLDER / run.name / INDEX_NAME
            if path.is_file():
                with duckdb.connect(path, read_only=True) as index:
                    return recording_digests(index)
    return None


def write_page(folder: Path) -> Path:
    """Write the report of the evaluation in ``folder`` if it is not there; return the page."""
    page = folder / PAGE_NAME
    if not page.exists():
        from deaps.report import write_report

        with EventLog(folder.parents[1]).stage("report", report=folder.name):
            write_report(read_evaluation(folder), folder)
    return page.resolve()


def rewrite_page(folder: Path) -> Path:
    """Write the report again, such as after a change of its looks."""
    (folder / PAGE_NAME).unlink(missing_ok=True)
    return write_page(folder)


def find_evaluation(store: Path, name: str | None) -> Path:
    """Return the folder of the evaluation of that name, by default the newest."""
    reports = store / REPORTS_FOLDER
    evaluations = sorted(
        (path.stat().st_mtime_ns, path.parent) for path in reports.glob(f"*/{EVALUATION_NAME}")
    )
    if name is not None:
        evaluations = [(when, folder) for when, folder in evaluations if folder.name == name]
    if not evaluations:
        what = f"no evaluation {name!r}" if name else "no evaluation"
        raise DeapsError(f"{what} in {reports}; run deaps evaluate")
    return evaluations[-1][1]
