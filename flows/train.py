"""The training stage: methods, or all that an experiment compares, on the published snapshot."""

from __future__ import annotations

from collections.abc import Sequence

from deaps.method_registry import DEAPS
from deaps.training.run_folder import Run, create_run
from flows.config import Settings
from flows.experiment.plan import plan_experiment, seeded_plans
from flows.experiment.state import load_state
from flows.launch import train_here, train_runs
from flows.runtime.prefect_glue import skip_stage
from flows.runtime.run_context import RunContext
from storage.errors import DeapsError


def train_methods(context: RunContext, methods: Sequence[str] = ()) -> list[str]:
    """Train methods, DEAPS by default, with every seed; return the runs' names.

    A training that fails does not stop the others; its error is raised when they are done.
    """
    settings = context.settings
    plans = [plan for name in methods or [DEAPS.name] for plan in seeded_plans(settings, name)]
    runs = [create_run(settings.store.root, plan) for plan in plans]
    if not all(run.finished for run in runs):
        from flows.experiment.inputs import warn_of_refusals

        warn_of_refusals(settings, {plan.method: plan for plan in plans})
    for result in train_here(context, runs):
        result()
    return [run.name for run in runs]


def train_experiment(context: RunContext) -> dict[str, str]:
    """Train all that the experiment compares; return why trainings failed, by run.

    Again where another snapshot was published meanwhile: its runs are others.

    Raises
    ------
    DeapsError
        If settings name a part of a data set that is not there, before anything is trained.
    """
    settings, failures = context.settings, dict[str, str]()
    if load_state(settings).missing:
        from flows.experiment.inputs import check_experiment

        check_experiment(settings)
    else:
        skip_stage("deaps-train", "every run of the experiment is trained")
    while runs := [run for run in unfinished_runs(settings) if run.name not in failures]:
        failures |= train_runs(context, runs)
    return failures


def unfinished_runs(settings: Settings) -> list[Run]:
    """Return the experiment's runs on the published snapshot that are not trained, each once."""
    plans = [trained.plan for trained in plan_experiment(settings).trained]
    runs = {run.name: run for run in (create_run(settings.store.root, plan) for plan in plans)}
    return [run for run in runs.values() if not run.finished]


def raise_failures(failures: dict[str, str], addition: str = "") -> None:
    """Raise DeapsError if trainings failed, with the reason of each."""
    if not failures:
        return
    reasons = "; ".join(f"{run}: {why}" for run, why in sorted(failures.items()))
    count = "1 training" if len(failures) == 1 else f"{len(failures)} trainings"
    raise DeapsError(f"{count} failed ({reasons}). Run it again: it goes on from there.{addition}")
