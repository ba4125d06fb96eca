"""What an experiment trains and compares: trainings, and the ablations that refer to them."""

from __future__ import annotations

from dataclasses import dataclass

from deaps.evaluation import Ablation, RepresentationRole
from deaps.training.run_folder import Run, TrainingPlan


@dataclass(frozen=True, slots=True)
class Trained:
    """A representation that a training makes."""

    name: str
    label: str
    role: RepresentationRole
    plan: TrainingPlan
    changed: tuple[str, ...] = ()
    """Overrides of the common settings."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """All trainings, each once, and the ablations that refer to them."""

    trained: tuple[Trained, ...]
    ablations: tuple[Ablation, ...]

    def trials(self) -> set[str]:
        """Return the names of trainings that only the inner folds may judge."""
        return {trained.name for trained in self.trained if trained.role == "trial"}

    def methods(self) -> list[str]:
        """Return the names of the methods' trainings."""
        return [trained.name for trained in self.trained if trained.role == "method"]


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A training of the experiment that is complete, with its run."""

    trained: Trained
    run: Run
