"""Representations that an evaluation compares: trained ones and floors, with their features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deaps.evaluation import Representation
from deaps.experiment import FinishedRun, Trained
from deaps.floors.classical import FEATURE_NAMES
from deaps.methods import load_method
from deaps.models.encoder import WIDTH
from deaps.probing.examples import Windows
from deaps.probing.feature_source import FeatureSource
from deaps.training.checkpoints import encoder_files
from storage.digest import digest_of

FLOORS_FOLDER = "floors"
_FEATURES_FOLDER = "features"
_NAME_LENGTH = 12


@dataclass(frozen=True, slots=True)
class FeatureFile:
    """The features of one representation at one step: their source, and the file they lie in."""

    representation: str
    step: int | None
    """Step of the encoder; None for the last, and for floors."""
    source: FeatureSource
    path: Path


def floor_files(
    store: Path, floors: Iterable[FeatureSource], windows: Windows, snapshot_id: str
) -> Iterator[FeatureFile]:
    """Yield the floors' files; their folder is shared by all snapshots, so the name tells which."""
    selection = digest_of(snapshot_id, digest_of(windows.key.tolist()))
    for source in floors:
        path = store / FLOORS_FOLDER / f"{source.kind}-{_digest(source, selection)}.parquet"
        yield FeatureFile(source.kind, None, source, path)


def run_files(
    finished: FinishedRun, windows: Windows, *, every_step: bool
) -> Iterator[FeatureFile]:
    """Yield the file of a run's last encoder and, with ``every_step``, those of earlier ones."""
    run, selection = finished.run, digest_of(windows.key.tolist())
    encoders = dict(encoder_files(run.folder))
    last = max(encoders)
    for step, encoder in encoders.items():
        if step != last and not every_step:
            continue
        source = FeatureSource("encoder", run.plan.normalise, encoder)
        path = (
            run.folder / _FEATURES_FOLDER / f"step-{step:08d}-{_digest(source, selection)}.parquet"
        )
        yield FeatureFile(finished.trained.name, None if step == last else step, source, path)


def _digest(source: FeatureSource, selection: str) -> str:
    return digest_of(source.digest(), selection)[:_NAME_LENGTH]


def missing_features(files: Sequence[FeatureFile]) -> list[FeatureFile]:
    """Return the files that are not there yet."""
    return [file for file in files if not file.path.exists()]


def representation_records(
    finished: Iterable[FinishedRun], files: Iterable[FeatureFile]
) -> tuple[Representation, ...]:
    """Return what the report says of each representation: trained ones first, then floors."""
    present = {file.representation for file in files if file.step is None}
    trained = [_record(each) for each in finished if each.trained.name in present]
    return (*trained, *(floor for floor in _FLOORS if floor.name in present))


_FLOORS = (
    Representation(
        name="random",
        label="random encoder",
        role="floor",
        features=WIDTH,
        deviations=("The encoder with its initial weights, not trained.",),
    ),
    Representation(
        name="classical",
        label="classical features",
        role="floor",
        features=len(FEATURE_NAMES),
        deviations=("Heart-rate variability and morphology by NeuroKit2, window by window.",),
    ),
)


def _record(finished: FinishedRun) -> Representation:
    trained, run = finished.trained, finished.run
    plan, method = run.plan, load_method(run.plan.method)
    size = method.encoder_size(plan.model)
    return Representation(
        name=trained.name,
        label=trained.label,
        role=trained.role,
        features=size.features,
        parameters=size.parameters,
        run=run.name,
        iterations=plan.iterations,
        batch=plan.training.batch,
        seed=plan.training.seed,
        deviations=(*method.deviations, *_own_settings(trained)),
    )


def _own_settings(trained: Trained) -> tuple[str, ...]:
    """Return a sentence on settings that are this training's own, if there are any."""
    if not trained.changed:
        return ()
    return (f"Trained with {', '.join(trained.changed)}, unlike what the settings say for all.",)
