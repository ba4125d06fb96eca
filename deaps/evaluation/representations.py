"""Representations that an evaluation compares: trained ones and baselines, with their features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deaps.baselines import FEATURE_NAMES, RR_NAMES
from deaps.evaluation.document import (
    BenchmarkRecord,
    Representation,
    TrainedRun,
)
from deaps.evaluation.examples import Windows
from deaps.evaluation.features import FeatureSource, has_features
from deaps.experiment import Experiment, FinishedRun, Trained
from deaps.methods import load_method
from deaps.models.encoder import WIDTH
from deaps.training.run_folder import Run, encoder_digests, encoder_path
from storage.errors import DeapsError
from storage.files import digest_of

BASELINES_FOLDER = "baselines"
FEATURES_FOLDER = "features"
_NAME_LENGTH = 12
RR_BASELINE: Final = "rr"
SHIPPED_BASELINE: Final = "shipped"


@dataclass(frozen=True, slots=True)
class FeatureFile:
    """The features of one representation at one step: their source, and the file they lie in."""

    representation: str
    seed: int | None
    """Of its training, or of a random encoder's weights; None where there is no chance."""
    step: int | None
    """Step of the encoder; None for the last, and for baselines."""
    source: FeatureSource
    path: Path


def baseline_files(
    store: Path, baselines: Iterable[FeatureSource], windows: Windows, snapshot_id: str
) -> Iterator[FeatureFile]:
    """Yield the baselines' files, named by the windows' own content and by what is made of them."""
    for source in baselines:
        digest = _digest(source, windows, snapshot_id)
        path = store / BASELINES_FOLDER / f"{source.kind}-{digest}.parquet"
        seed = source.seed if source.kind == "random" else None
        yield FeatureFile(source.kind, seed, None, source, path)


def run_files(
    finished: FinishedRun, windows: Windows, *, every_step: bool
) -> Iterator[FeatureFile]:
    """Yield the file of a run's last encoder and, with ``every_step``, those of earlier ones."""
    run = finished.run
    digests = _encoder_digests(run)
    last = max(digests)
    for step, sha256 in digests.items():
        if step != last and not every_step:
            continue
        encoder = encoder_path(run.folder, step)
        source = FeatureSource("encoder", run.plan.normalise, encoder, sha256=sha256)
        digest = _digest(source, windows, run.snapshot_id)
        path = run.folder / FEATURES_FOLDER / f"step-{step:08d}-{digest}.parquet"
        at = None if step == last else step
        yield FeatureFile(*finished.trained.key, at, source, path)


def _encoder_digests(run: Run) -> dict[int, str]:
    """Return a run's encoders by step; a finished run has at least its last one."""
    digests = encoder_digests(run.folder)
    if not digests:
        raise DeapsError(
            f"run {run.name} has no encoder in {run.folder}: its folder was removed or emptied; "
            "run deaps train and then deaps evaluate again"
        )
    return dict(sorted(digests.items()))


def _digest(source: FeatureSource, windows: Windows, snapshot_id: str) -> str:
    """Return the name of features: what makes them, the windows, and what windows are scaled by.

    Mean and deviation of a data set are those of all its recordings in one snapshot.
    """
    scaled_by = [snapshot_id] if source.normalise == "dataset" else []
    return digest_of(source.digest(), windows.digest(), *scaled_by)[:_NAME_LENGTH]


def missing_features(files: Sequence[FeatureFile]) -> list[FeatureFile]:
    """Return the files that are not there yet, or damaged."""
    return [file for file in files if not has_features(file.path)]


def run_of(file: FeatureFile) -> str:
    """Return the run in whose folder a file of features lies: runs/RUN/features/FILE."""
    return file.path.parent.parent.name


def first_seeds(files: Iterable[FeatureFile]) -> list[FeatureFile]:
    """Return the files of each representation's first seed: what is drawn, not measured."""
    first: dict[str, int | None] = {}
    return [file for file in files if first.setdefault(file.representation, file.seed) == file.seed]


def representation_records(
    experiment: Experiment, finished: Iterable[FinishedRun], files: Iterable[FeatureFile]
) -> tuple[Representation, ...]:
    """Return what the report says of each representation: trained ones, joined ones, baselines."""
    present = {file.representation for file in files if file.step is None}
    by_name: dict[str, list[FinishedRun]] = {}
    for each in finished:
        if each.trained.name in present:
            by_name.setdefault(each.trained.name, []).append(each)
    planned: dict[str, list[int]] = {}
    for trained in experiment.trained:
        planned.setdefault(trained.name, []).append(trained.key.seed)
    trained_ones = [_record(runs, planned[name]) for name, runs in by_name.items()]
    return (*trained_ones, *(baseline for baseline in _BASELINES if baseline.name in present))


_BASELINES = (
    Representation(
        name="random",
        label="random encoder",
        role="baseline",
        features=WIDTH,
        deviations=("The encoder with its initial weights, not trained.",),
    ),
    Representation(
        name="classical",
        label="classical features",
        role="baseline",
        features=len(FEATURE_NAMES),
        deviations=("Heart-rate variability and morphology by NeuroKit2, window by window.",),
    ),
    Representation(
        name=RR_BASELINE,
        label="six RR numbers",
        role="baseline",
        features=len(RR_NAMES),
        deviations=("Six numbers of the intervals between a window's beats.",),
    ),
    Representation(
        name=SHIPPED_BASELINE,
        label="shipped encoder",
        role="baseline",
        features=WIDTH,
        deviations=("The encoder that comes with the package, as it is.",),
    ),
)

BASELINE_NAMES = tuple(baseline.name for baseline in _BASELINES)


def with_joined(
    records: Sequence[Representation], reference: str, benchmarks: Iterable[BenchmarkRecord]
) -> tuple[Representation, ...]:
    """Return the records, after them the reference with the RR numbers, if it was tested."""
    tested = any(benchmark.outcome(joined_name(reference)) for benchmark in benchmarks)
    method = next((record for record in records if record.name == reference), None)
    return (*records, _joined(method)) if tested and method is not None else tuple(records)


def _joined(method: Representation) -> Representation:
    return Representation(
        name=joined_name(method.name),
        label=f"{method.label} + RR",
        role="joined",
        features=method.features + len(RR_NAMES),
        deviations=(f"The features of {method.label} and the six RR numbers side by side.",),
    )


def joined_name(method: str) -> str:
    """Return the name of a method's features with the RR numbers next to them."""
    return f"{method} + {RR_BASELINE}"


def _trained_run(finished: FinishedRun) -> TrainedRun:
    digests = _encoder_digests(finished.run)
    return TrainedRun(
        name=finished.run.name,
        seed=finished.trained.key.seed,
        encoder_sha256=digests[max(digests)],
    )


def _record(finished: Sequence[FinishedRun], planned: Iterable[int]) -> Representation:
    trained, plan = finished[0].trained, finished[0].run.plan
    method = load_method(plan.method)
    size = method.encoder_size(plan.model)
    runs = tuple(_trained_run(each) for each in finished)
    present = {run.seed for run in runs}
    return Representation(
        name=trained.name,
        label=trained.label,
        role=trained.role,
        features=size.features,
        parameters=size.parameters,
        runs=runs,
        missing_seeds=tuple(seed for seed in planned if seed not in present),
        iterations=plan.iterations,
        batch=plan.training.batch,
        deviations=(*method.deviations, *_own_settings(trained)),
    )


def _own_settings(trained: Trained) -> tuple[str, ...]:
    """Return a sentence on settings that are this training's own, if there are any."""
    if not trained.changed:
        return ()
    return (f"Trained with {', '.join(trained.changed)}, unlike what the settings say for all.",)
