"""How far an experiment has come: which runs are finished, and whether it is evaluated.

Nothing here imports torch or Prefect: asking takes no time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deaps.evaluation.representations import Experiment, FinishedRun, RunKey
from deaps.training.run_folder import Run, encoder_digests, open_run, run_path
from flows.config import Settings
from flows.experiment.folder import evaluation_folder, evaluation_id, is_complete
from flows.experiment.plan import plan_experiment
from storage.errors import DeapsError
from storage.files import RUN_NAME, digest_of
from storage.snapshot import open_index, read_snapshot

_COHORT = "SELECT s::VARCHAR FROM subjects s ORDER BY ALL"
_LABELS = "SELECT dataset, label_source, synthetic FROM datasets ORDER BY ALL"


class NothingTrainedError(DeapsError):
    """There is no finished run to evaluate."""


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
        NothingTrainedError
            If there is not: the report would have floors alone.
        """
        if not self.runs:
            raise NothingTrainedError(
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
