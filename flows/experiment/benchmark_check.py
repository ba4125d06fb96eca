"""What is wrong with the benchmarks, as far as it is known before anything is trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from deaps.evaluation.guards import refusals
from deaps.evaluation.plan import require_benchmark_parts
from deaps.training.run_folder import TrainingPlan
from deaps.training.trained_on import planned_training
from flows.config import Settings
from flows.experiment.evaluation_inputs import shipped_on
from flows.experiment.plan import plan_experiment
from flows.runtime.console import say
from storage.snapshot import open_index


def check_experiment(settings: Settings) -> None:
    """Refuse benchmarks on parts that the published snapshot does not have; warn of leaks.

    Raises
    ------
    NoSuchPartError
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

    ``plans`` has one training of each representation: seeds do not change whom it draws from.
    """
    trained = planned_training(plans, settings.store.root)
    with open_index(settings.store.root) as index:
        trained |= shipped_on(settings, index, windows=None)
        refused = refusals(index, settings.benchmarks, trained, trials)
    for name, reason in refused.items():
        say(f"warning: benchmark {name} will be {reason}")
