"""What an evaluation is made of: benchmarks, files of features, and the answers to get."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from deaps.evaluation.answers import AnswerRequest, files_to_embed, requests
from deaps.evaluation.document import DatasetLabels
from deaps.evaluation.examples import Windows
from deaps.evaluation.features import FeatureSource
from deaps.evaluation.guards import GuardedPlans, guard_plans, refusals
from deaps.evaluation.plan import Plan, plan_benchmarks, require_benchmark_parts, windows_of
from deaps.evaluation.representations import (
    BASELINE_NAMES,
    RR_BASELINE,
    SHIPPED_BASELINE,
    FeatureFile,
    baseline_files,
    run_files,
)
from deaps.experiment import FinishedRun
from deaps.models.encoder_file import EncoderFileError, encoder_file, require_chain_of_store
from deaps.training.run_folder import TrainingPlan
from deaps.training.trained_on import (
    TrainedOn,
    planned_training,
    read_trained_on,
    trained_on_of_file,
)
from flows.config import Settings
from flows.experiment.plan import plan_experiment
from flows.experiment.state import ExperimentState
from flows.runtime.console import notify
from preprocessing.datasets import DATASETS
from storage.errors import DeapsError
from storage.snapshot import open_index, read_chain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class EvaluationInputs:
    """What is compared on what, on the published snapshot."""

    state: ExperimentState
    labels: DatasetLabels
    guarded: GuardedPlans
    not_run: Mapping[str, str]
    """Why the other benchmarks cannot be run."""
    windows: Windows
    files: Sequence[FeatureFile]
    requests: Sequence[AnswerRequest]

    @property
    def plans(self) -> Mapping[str, Plan]:
        """The benchmarks that are run."""
        return self.guarded.plans

    def of_runs(self) -> EvaluationInputs:
        """Return the same without baselines, but for the RR numbers that are joined to a run's."""
        baselines = set(BASELINE_NAMES)
        return replace(
            self,
            files=[f for f in self.files if f.representation not in baselines - {RR_BASELINE}],
            requests=[r for r in self.requests if r.key.representation not in baselines],
        )

    def missing_files(self) -> list[FeatureFile]:
        """Return the files of features that are still to be made."""
        return files_to_embed(self.files, self.requests, self.plans)


def read_inputs(
    state: ExperimentState, index: DuckDBPyConnection, labels: DatasetLabels
) -> EvaluationInputs:
    """Return what an evaluation of the finished runs compares."""
    guarded, not_run = guarded_plans(state, index, labels)
    windows = windows_of(guarded.plans.values())
    if not state.settings.sampling.mixed_chains:
        read_chain(index, _USED, used=_recordings(windows))
    files = list_features(state, windows)
    wanted = wanted_answers(state, files, guarded.plans)
    return EvaluationInputs(state, labels, guarded, not_run, windows, files, wanted)


_USED = "list_contains($used, recording_id)"


def _recordings(windows: Windows) -> list[int]:
    used: list[int] = np.unique(windows.recording_id).tolist()
    return used


def trained_on(finished: Sequence[FinishedRun]) -> dict[str, TrainedOn]:
    """Return who each representation was trained on, over all its seeds."""
    by_name: dict[str, TrainedOn] = {}
    for each in finished:
        before = by_name.get(each.trained.name, TrainedOn(frozenset(), frozenset()))
        by_name[each.trained.name] = before | read_trained_on(each.run)
    return by_name


def guarded_plans(
    state: ExperimentState, index: DuckDBPyConnection, labels: DatasetLabels
) -> tuple[GuardedPlans, dict[str, str]]:
    """Return the benchmarks that can be run on the finished runs, and why others cannot."""
    settings = state.settings
    plans, not_run = plan_benchmarks(index, settings.benchmarks, settings.data.roots(), labels)
    trained = trained_on(state.finished)
    trained |= shipped_on(settings, index, windows_of(plans.values()))
    guarded = guard_plans(plans, trained, state.experiment.trials())
    return guarded, not_run | guarded.refused


def shipped_on(
    settings: Settings, index: DuckDBPyConnection, windows: Windows | None
) -> dict[str, TrainedOn]:
    """Return who the shipped encoder was trained on, nothing if it is not compared.

    ``windows`` are those that it is tested on, which it must fit; None before that is known.
    """
    if not settings.experiment.shipped:
        return {}
    try:
        if windows is not None:
            require_chain_of_store(None, index, _USED, used=_recordings(windows))
    except EncoderFileError as error:
        raise DeapsError(f"{error}; to leave it out: --set experiment.shipped=false") from None
    return {SHIPPED_BASELINE: trained_on_of_file(encoder_file())}


def dataset_labels() -> DatasetLabels:
    """Return the names of data sets for people."""
    return DatasetLabels({name: dataset.label for name, dataset in DATASETS.items()})


def list_features(state: ExperimentState, windows: Windows) -> list[FeatureFile]:
    """Return the files of features that are compared: baselines, then finished runs."""
    settings = state.settings
    normalise = settings.store.normalise
    seeds = settings.experiment.seeds or (settings.training.seed,)
    baselines = [
        FeatureSource("random", normalise, seed=s, settings=settings.encoder) for s in seeds
    ]
    baselines.append(FeatureSource(RR_BASELINE, normalise))
    if settings.experiment.classical:
        baselines.append(FeatureSource("classical", normalise))
    if settings.experiment.shipped:
        baselines.append(FeatureSource.of_shipped())
    files = list(baseline_files(settings.store.root, baselines, windows, state.snapshot_id))
    followed = _first_of_methods(state.finished)
    for finished in state.finished:
        every_step = settings.experiment.evolution and finished in followed
        files += run_files(finished, windows, every_step=every_step)
    return files


def wanted_answers(
    state: ExperimentState, files: Sequence[FeatureFile], plans: Mapping[str, Plan]
) -> list[AnswerRequest]:
    """Return all answers that the evaluation needs."""
    return requests(
        files,
        plans,
        trials=state.experiment.trials(),
        reference=state.settings.experiment.reference,
        probes=state.settings.benchmarks.probes,
    )


def _first_of_methods(finished: Sequence[FinishedRun]) -> list[FinishedRun]:
    """Return each method's first run, whose course over the steps is followed."""
    first: dict[str, FinishedRun] = {}
    for each in finished:
        if each.trained.role == "method":
            first.setdefault(each.trained.name, each)
    return list(first.values())


def check_experiment(settings: Settings) -> None:
    """Refuse benchmarks on parts that the published snapshot does not have; warn of leaks.

    Raises
    ------
    DeapsError
        If a benchmark or the sampler names such a part.
    """
    with open_index(settings.store.root) as index:
        require_benchmark_parts(index, settings.benchmarks)
    experiment = plan_experiment(settings)
    plans = {trained.name: trained.plan for trained in experiment.trained}
    warn_of_refusals(settings, plans, experiment.trials())


def warn_of_refusals(
    settings: Settings, plans: Mapping[str, TrainingPlan], trials: Collection[str] = ()
) -> None:
    """Say which benchmarks will be refused because trainings draw from the people they test.

    ``plans`` has one training of each representation: seeds do not change who it draws from.
    """
    trained = planned_training(plans, settings.store.root)
    with open_index(settings.store.root) as index:
        trained |= shipped_on(settings, index, windows=None)
        refused = refusals(index, settings.benchmarks, trained, trials)
    for name, reason in refused.items():
        notify(f"warning: benchmark {name} will be {reason}")
