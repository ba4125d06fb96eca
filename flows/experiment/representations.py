"""Representations that an evaluation compares: trained ones and floors, with their features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deaps.evaluation import Representation
from deaps.floors.classical import FEATURE_NAMES
from deaps.methods import METHODS
from deaps.models.encoder import WIDTH
from deaps.probing.examples import Windows
from deaps.probing.feature_source import FeatureSource
from deaps.training.checkpoints import encoder_files
from deaps.training.run_folder import Run
from flows.config import Settings
from flows.experiment.plan import Trained
from flows.experiment.state import ExperimentState
from storage.digest import digest_of

FLOORS_FOLDER = "floors"
_FEATURES_FOLDER = "features"
_NAME_LENGTH = 12


@dataclass(frozen=True, slots=True)
class Compared:
    """A representation at one step: what it is, and where its features come from and lie."""

    name: str
    """Name of the representation."""
    step: int | None
    """Step of the encoder; None for the last, and for floors."""
    source: FeatureSource
    features: Path


def compared(state: ExperimentState, windows: Windows) -> Iterator[Compared]:
    """Yield floors, then every finished run at its last step and, for methods, at earlier ones."""
    settings = state.settings
    selection = digest_of(windows.key.tolist())
    # A run's folder belongs to one snapshot; the floors' is shared by all.
    yield from _floors(settings, digest_of(state.snapshot_id, selection))
    for trained in state.experiment.trained:
        if run := state.runs.get(trained.name):
            yield from _steps(settings, trained, run, selection)


def _floors(settings: Settings, selection: str) -> Iterator[Compared]:
    folder = settings.store.root / FLOORS_FOLDER
    normalise, seed = settings.store.normalise, settings.benchmarks.seed
    sources = [FeatureSource("random", normalise, seed=seed)]
    if settings.experiment.classical:
        sources.append(FeatureSource("classical", normalise))
    for source in sources:
        path = folder / f"{source.kind}-{_name(source, selection)}.parquet"
        yield Compared(source.kind, None, source, path)


def _steps(settings: Settings, trained: Trained, run: Run, selection: str) -> Iterator[Compared]:
    files = dict(encoder_files(run.folder))
    last = max(files)
    evolves = settings.experiment.evolution and trained.role == "method"
    for step, encoder in files.items():
        if step != last and not evolves:
            continue
        source = FeatureSource("encoder", run.plan.normalise, encoder)
        name = f"step-{step:08d}-{_name(source, selection)}.parquet"
        path = run.folder / _FEATURES_FOLDER / name
        yield Compared(trained.name, None if step == last else step, source, path)


def _name(source: FeatureSource, selection: str) -> str:
    return digest_of(source.digest(), selection)[:_NAME_LENGTH]


def described(state: ExperimentState, items: Iterable[Compared]) -> list[Representation]:
    """Return what the report says of each representation."""
    present = {item.name for item in items if item.step is None}
    floors = [floor for floor in _FLOORS if floor.name in present]
    return [
        _described(trained, state.runs[trained.name])
        for trained in state.experiment.trained
        if trained.name in present
    ] + floors


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


def _described(trained: Trained, run: Run) -> Representation:
    plan, is_tfc = run.plan, run.plan.method == "tf-c"
    return Representation(
        name=trained.name,
        label=trained.label,
        role=trained.role,
        features=2 * WIDTH if is_tfc else WIDTH,
        parameters=32_623_328 if is_tfc else 1_192_616,
        run=run.name,
        iterations=plan.iterations,
        batch=plan.training.batch,
        seed=plan.training.seed,
        deviations=(*METHODS[plan.method].deviations, *_tuned(trained)),
    )


def _tuned(trained: Trained) -> tuple[str, ...]:
    """Return a sentence on settings that are this training's own, if there are any."""
    if not trained.changed:
        return ()
    return (f"Trained with {', '.join(trained.changed)}, unlike what the settings say for all.",)
