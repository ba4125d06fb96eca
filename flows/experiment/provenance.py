"""What figures come from: versions, hardware, digests and times; and a figure's whole line."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from deaps.evaluation.document import (
    BenchmarkRecord,
    DatasetLabels,
    Evaluation,
    Outcome,
    Provenance,
    Score,
    Stage,
    TrainedRun,
    read_evaluation,
)
from deaps.training.run_folder import read_end, to_toml
from flows.config import Settings
from flows.experiment.state import find_evaluation
from storage.errors import DeapsError
from storage.files import RUNS_FOLDER, digest_of
from storage.packages import code_version, installed_versions
from storage.schema import WINDOW_S
from storage.snapshot import open_index, read_snapshot

if TYPE_CHECKING:
    from deaps.evaluation.representations import FeatureFile


_PACKAGES = (
    "deaps",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "neurokit2",
    "duckdb",
    "pyarrow",
    "prefect",
)

_SOURCE_DIGESTS = """
SELECT sha256 FROM sources JOIN recordings USING (recording_id)
WHERE dataset = coalesce($dataset, dataset) ORDER BY sha256
"""


class Stopwatch:
    """Times of stages, in the order in which they ended."""

    def __init__(self, earlier: Iterable[Stage] = ()) -> None:
        self.stages: list[Stage] = list(earlier)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        started = time.perf_counter()
        yield
        self.stages.append(Stage(name=name, seconds=time.perf_counter() - started))


def provenance(
    settings: Settings,
    index: duckdb.DuckDBPyConnection,
    files: Sequence[FeatureFile],
    labels: DatasetLabels,
    stages: Sequence[Stage],
    command: str,
) -> Provenance:
    """Return versions, hardware, digests, seeds and times of an evaluation."""
    text = to_toml(settings.model_dump(mode="json", exclude={"data", "execution"}))
    count, sources_sha256 = digest_of_sources(index)
    return Provenance(
        settings_digest=settings_digest(settings),
        code=code_version(),
        sources=count,
        sources_sha256=sources_sha256,
        snapshot_id=read_snapshot(index).snapshot_id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
        versions=versions(),
        hardware=hardware(settings.execution.device),
        settings=text,
        digests=_encoder_digests(files) | _dataset_digests(index, labels),
        seeds={"training": settings.training.seed, "benchmarks": settings.benchmarks.seed},
        stages=tuple(stages),
    )


def settings_digest(settings: Settings) -> str:
    """Return the digest of all settings that a figure can depend on: none of the machine's."""
    values = settings.model_dump(mode="json", exclude={"data", "execution", "refresh"})
    del values["store"]["root"]
    return digest_of(values)


def digest_of_sources(
    index: duckdb.DuckDBPyConnection, dataset: str | None = None
) -> tuple[int, str]:
    """Return how many source files a snapshot or a data set has, and the SHA-256 of their SHA-256s.

    Sorted, a line each: ``sort`` and ``sha256sum`` say the same.
    """
    rows = index.execute(_SOURCE_DIGESTS, {"dataset": dataset}).fetchall()
    digests = [digest for (digest,) in rows]
    lines = "".join(f"{digest}\n" for digest in digests)
    return len(digests), hashlib.sha256(lines.encode()).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of what figures can depend on."""
    installed = installed_versions(_PACKAGES)
    return {name: installed.get(name, "not installed") for name in ("python", *_PACKAGES)}


def hardware(device: str) -> dict[str, str]:
    """Return processor, cores, memory and the device that encoders run on."""
    # Imported here: a pipeline with nothing to do needs no torch.
    from deaps.training.device import choose_device

    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{pages / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "device": str(choose_device(device)),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def _encoder_digests(files: Sequence[FeatureFile]) -> dict[str, str]:
    return {
        f"encoder {file.representation}{_seed(file)}": file.source.encoder_sha256
        for file in files
        if file.step is None and file.source.encoder is not None
    }


def _seed(file: FeatureFile) -> str:
    return "" if file.seed is None else f", seed {file.seed}"


def _dataset_digests(index: duckdb.DuckDBPyConnection, labels: DatasetLabels) -> dict[str, str]:
    rows = index.execute("SELECT dataset FROM datasets ORDER BY dataset").fetchall()
    return {f"data set {labels[name]}": digest_of_sources(index, name)[1] for (name,) in rows}


Lines = list[tuple[str, str]]
"""What, and its value; a name may occur more than once."""

_RECORDING = """
SELECT recording_id, digest, path, n_windows FROM recordings WHERE dataset = ? AND name = ?
"""
_SOURCES = "SELECT role, path, size, sha256 FROM sources WHERE recording_id = ? ORDER BY path"
_WINDOW = "SELECT start_s, quality, rhythm FROM windows WHERE recording_id = ? AND row = ?"


def trace_figure(store: Path, report: str | None, figure: str) -> Lines:
    """Return what a figure comes from; ``figure`` is benchmark/representation[/metric].

    Raises
    ------
    DeapsError
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
    raise DeapsError(
        f"no figure {figure!r} in report {evaluation.id}; it is benchmark/representation or "
        f"benchmark/representation/metric, such as {', '.join(known)}"
    )


def _runs(evaluation: Evaluation, name: str, store: Path) -> Iterator[tuple[str, str]]:
    runs = evaluation.representation(name).runs
    if not runs:
        yield "run", "none: a baseline, which is not trained"
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
    DeapsError
        If there is no such window.
    """
    dataset, _, rest = window.partition("/")
    name, _, row = rest.rpartition("/")
    with open_index(store) as index:
        recording = index.execute(_RECORDING, [dataset, name]).fetchone()
        if recording is None or not row.isdecimal() or int(row) >= recording[3]:
            raise DeapsError(_no_window(window, recording))
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
